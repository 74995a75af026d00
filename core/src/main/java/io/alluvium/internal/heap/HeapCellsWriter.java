package io.alluvium.internal.heap;

import io.alluvium.internal.files.LocalFiles;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.TableSnapshot;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** Writes partitions to one file, in ascending order. Confined to one thread at a time. */
final class HeapCellsWriter implements AutoCloseable {

  private final Path directory;
  private final Path file;
  private final FileChannel out;
  private final CRC32C crc = new CRC32C();
  private final ByteWriter header = new ByteWriter();
  private ByteWriter payload = new ByteWriter(2 * HeapCellsFormat.SECTION_BYTES);
  private final ByteWriter lastKey = new ByteWriter();

  /**
   * Per key group, ascending: difference to the previous key group, offset of its first section.
   */
  private final ByteWriter index = new ByteWriter();

  private int keyGroups;
  private int lastKeyGroup = -1;
  private long lastOffset;
  private long entries;
  private int sectionEntries;
  private long offset;

  /** Creates the directory and the file. */
  HeapCellsWriter(Path directory) throws IOException {
    this.directory = directory;
    this.file = directory.resolve(HeapCellsFormat.FILE);
    Files.createDirectories(directory);
    this.out =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE);
    boolean done = false;
    try {
      writeHeader();
      done = true;
    } finally {
      if (!done) {
        out.close();
      }
    }
  }

  private void writeHeader() throws IOException {
    header.writeLong(HeapCellsFormat.MAGIC);
    header.writeShort(HeapCellsFormat.VERSION);
    header.writeShort(0);
    header.writeInt(checksum(header.length()));
    write(header);
  }

  /** Writes one partition, which must follow the previous one in key order. */
  void write(Partition partition, @Nullable Object[] contents) throws IOException {
    PartitionCursor cursor = PartitionCursor.over(partition.prefix, contents, new byte[0]);
    if (partition.keyGroup != lastKeyGroup) {
      index.writeVarInt(partition.keyGroup - Math.max(0, lastKeyGroup));
      index.writeVarLong(offset - lastOffset);
      lastKeyGroup = partition.keyGroup;
      lastOffset = offset;
      keyGroups++;
    }
    while (cursor.next()) {
      add(cursor, partition.prefix.length);
      if (payload.length() >= HeapCellsFormat.SECTION_BYTES) {
        endSection(partition);
      }
    }
    endSection(partition);
  }

  private void add(PartitionCursor cursor, int prefixLength) {
    byte[] key = cursor.key().array();
    int keyLength = cursor.key().length();
    int shared = 0;
    if (sectionEntries > 0) {
      int differs =
          Arrays.mismatch(key, prefixLength, keyLength, lastKey.array(), 0, lastKey.length());
      // mismatch() is -1 only for equal keys; a key is never a prefix of the previous, smaller one.
      shared = Math.max(0, differs);
    }
    int restAt = prefixLength + shared;
    payload.writeVarInt(shared);
    payload.writeVarInt(keyLength - restAt);
    payload.writeVarInt(cursor.valueLength());
    payload.writeBytes(key, restAt, keyLength - restAt);
    payload.writeBytes(cursor.valueArray(), cursor.valueOffset(), cursor.valueLength());
    lastKey.setLength(shared);
    lastKey.writeBytes(key, restAt, keyLength - restAt);
    sectionEntries++;
  }

  private void endSection(Partition partition) throws IOException {
    if (sectionEntries == 0) {
      return;
    }
    header.clear();
    header.writeShort(partition.keyGroup);
    header.writeInt(partition.stateId);
    header.writeInt(sectionEntries);
    header.writeInt(payload.length());
    crc.reset();
    crc.update(header.array(), 0, header.length());
    crc.update(payload.array(), 0, payload.length());
    header.writeInt((int) crc.getValue());
    write(header);
    write(payload);
    entries += sectionEntries;
    sectionEntries = 0;
    payload.clear();
    if (payload.array().length > 16 * HeapCellsFormat.SECTION_BYTES) {
      // Do not keep the memory of one huge value for the rest of the file.
      payload = new ByteWriter(2 * HeapCellsFormat.SECTION_BYTES);
    }
  }

  /** Writes the footer and closes the file. */
  TableSnapshot finish() throws IOException {
    long footerOffset = offset;
    ByteWriter footer = payload;
    footer.clear();
    footer.writeVarLong(entries);
    footer.writeVarInt(keyGroups);
    footer.writeBytes(index.array(), 0, index.length());
    header.clear();
    header.writeLong(footerOffset);
    header.writeInt(footer.length());
    crc.reset();
    crc.update(footer.array(), 0, footer.length());
    crc.update(header.array(), 0, header.length());
    header.writeInt((int) crc.getValue());
    header.writeLong(HeapCellsFormat.MAGIC);
    write(footer);
    write(header);
    close();
    return new TableSnapshot(
        directory, List.of(new TableSnapshot.File(HeapCellsFormat.FILE, file, offset, false)));
  }

  private int checksum(int length) {
    crc.reset();
    crc.update(header.array(), 0, length);
    return (int) crc.getValue();
  }

  private void write(ByteWriter bytes) throws IOException {
    LocalFiles.write(out, ByteBuffer.wrap(bytes.array(), 0, bytes.length()));
    offset += bytes.length();
  }

  @Override
  public void close() throws IOException {
    out.close();
  }
}
