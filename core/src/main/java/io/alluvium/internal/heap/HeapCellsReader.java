package io.alluvium.internal.heap;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.files.LocalFiles;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.TableScan;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;

/**
 * Reads the entries of some key groups from the file of a snapshot. Every byte is verified before
 * it is used. Confined to one thread.
 */
final class HeapCellsReader implements TableScan {

  private final Path file;
  private final KeyGroupRange keyGroups;
  private final FileChannel channel;
  private final CRC32C crc = new CRC32C();
  private final ByteWriter key = new ByteWriter();
  private final ByteWriter value = new ByteWriter(0);
  private final ByteReader section = new ByteReader();
  private byte[] bytes = new byte[HeapCellsFormat.SECTION_HEADER_BYTES];

  /** End of the sections and start of the footer. */
  private long end;

  private long offset;
  private int entriesLeft;
  private int prefixLength;

  private HeapCellsReader(Path file, KeyGroupRange keyGroups, FileChannel channel) {
    this.file = file;
    this.keyGroups = keyGroups;
    this.channel = channel;
  }

  static HeapCellsReader open(Path directory, KeyGroupRange keyGroups) {
    Path file = directory.resolve(HeapCellsFormat.FILE);
    FileChannel channel;
    try {
      channel = FileChannel.open(file, StandardOpenOption.READ);
    } catch (NoSuchFileException e) {
      throw StateBackendException.of(
          Kind.CORRUPT, "the table file '" + file + "' of a materialization is missing", e);
    } catch (IOException e) {
      throw unreadable(file, e);
    }
    HeapCellsReader reader = new HeapCellsReader(file, keyGroups, channel);
    boolean done = false;
    try {
      reader.readEnds();
      done = true;
    } finally {
      if (!done) {
        reader.close();
      }
    }
    return reader;
  }

  private static StateBackendException unreadable(Path file, IOException e) {
    return StateBackendException.unavailable(
        "cannot read table file '" + file + "': " + e.getMessage(), e);
  }

  private StateBackendException damaged(long at, Object expected, Object found) {
    return StateBackendException.corrupt(file.toString(), at, expected, found);
  }

  /** Verifies header, tail and footer, and finds the first section of the key groups. */
  private void readEnds() {
    long size = size();
    long least = HeapCellsFormat.HEADER_BYTES + HeapCellsFormat.TAIL_BYTES;
    if (size < least) {
      throw damaged(size, "at least " + least + " bytes", "the end of the file");
    }
    ByteReader header = read(0, HeapCellsFormat.HEADER_BYTES);
    checkMagic(0, header.readLong());
    int version = header.readUnsignedShort();
    header.skip(2);
    checkCrc(HeapCellsFormat.HEADER_CRC_AT, header.readInt(), 0, HeapCellsFormat.HEADER_CRC_AT);
    if (version != HeapCellsFormat.VERSION) {
      throw StateBackendException.incompatible(
          "table file '"
              + file
              + "' has format version "
              + version
              + ", this version of Alluvium reads version "
              + HeapCellsFormat.VERSION
              + "; use the version that wrote it or a newer one");
    }
    long tailAt = size - HeapCellsFormat.TAIL_BYTES;
    ByteReader tail = read(tailAt, HeapCellsFormat.TAIL_BYTES);
    end = tail.readLong();
    int footerLength = tail.readInt();
    int footerCrc = tail.readInt();
    checkMagic(tailAt + HeapCellsFormat.TAIL_MAGIC_AT, tail.readLong());
    if (footerLength < 0 || end != tailAt - footerLength || end < HeapCellsFormat.HEADER_BYTES) {
      throw damaged(
          tailAt, "a footer that ends at " + tailAt, "one of " + footerLength + " bytes at " + end);
    }
    ByteReader footer = read(end, footerLength + HeapCellsFormat.TAIL_CRC_AT);
    checkCrc(
        tailAt + HeapCellsFormat.TAIL_CRC_AT,
        footerCrc,
        0,
        footerLength + HeapCellsFormat.TAIL_CRC_AT);
    offset = firstSection(footer);
  }

  private long firstSection(ByteReader footer) {
    footer.readVarLong(); // number of entries
    int keyGroup = 0;
    long at = 0;
    for (int left = footer.readVarInt(); left > 0; left--) {
      keyGroup += footer.readVarInt();
      at += footer.readVarLong();
      if (keyGroup >= keyGroups.from()) {
        return at;
      }
    }
    return end;
  }

  private void checkMagic(long at, long found) {
    if (found != HeapCellsFormat.MAGIC) {
      throw damaged(
          at, Long.toHexString(HeapCellsFormat.MAGIC) + " (ALLUVCEL)", Long.toHexString(found));
    }
  }

  /** Verifies a range of {@link #bytes}; {@code at} is the position of the checksum in the file. */
  private void checkCrc(long at, int stored, int from, int length) {
    crc.reset();
    crc.update(bytes, from, length);
    checkCrc(at, stored);
  }

  private void checkCrc(long at, int stored) {
    if ((int) crc.getValue() != stored) {
      throw damaged(
          at, "checksum " + Integer.toHexString((int) crc.getValue()), Integer.toHexString(stored));
    }
  }

  @Override
  public boolean next() {
    while (entriesLeft == 0) {
      if (!nextSection()) {
        return false;
      }
    }
    long at = offset - section.remaining();
    try {
      readEntry();
    } catch (StateBackendException e) {
      throw damaged(at, "an entry", String.valueOf(e.getMessage()));
    }
    if (--entriesLeft == 0 && section.remaining() != 0) {
      throw damaged(at, "the end of a section", section.remaining() + " more bytes");
    }
    return true;
  }

  private void readEntry() {
    int shared = section.readVarInt();
    int rest = section.readVarInt();
    int valueLength = section.readVarInt();
    if (shared < 0 || shared > key.length() - prefixLength) {
      throw StateBackendException.corrupt(
          "it shares "
              + Integer.toUnsignedString(shared)
              + " bytes with a key of "
              + (key.length() - prefixLength));
    }
    int from = section.position();
    section.skip(rest);
    key.setLength(prefixLength + shared);
    key.writeBytes(section.array(), from, rest);
    from = section.position();
    section.skip(valueLength);
    value.clear();
    value.writeBytes(section.array(), from, valueLength);
  }

  private boolean nextSection() {
    if (offset == end) {
      return false;
    }
    long start = offset;
    if (end - start < HeapCellsFormat.SECTION_HEADER_BYTES) {
      throw damaged(start, "a section", (end - start) + " bytes before the footer");
    }
    ByteReader header = read(start, HeapCellsFormat.SECTION_HEADER_BYTES);
    int keyGroup = header.readUnsignedShort();
    int stateId = header.readInt();
    int entries = header.readInt();
    int length = header.readInt();
    int stored = header.readInt();
    crc.reset();
    crc.update(bytes, 0, HeapCellsFormat.SECTION_CRC_AT);
    long payloadAt = start + HeapCellsFormat.SECTION_HEADER_BYTES;
    if (length < 0 || length > end - payloadAt || entries < 0) {
      throw damaged(
          start,
          "a section that ends before " + end,
          "one of " + entries + " entries and " + Integer.toUnsignedString(length) + " bytes");
    }
    ByteReader payload = read(payloadAt, length);
    crc.update(bytes, 0, length);
    checkCrc(start + HeapCellsFormat.SECTION_CRC_AT, stored);
    if (keyGroup >= keyGroups.to()) {
      offset = end;
      return false;
    }
    section.reset(payload.array(), payload.position(), length);
    key.clear();
    KeyLayout.writeState(key, keyGroup, stateId);
    prefixLength = key.length();
    entriesLeft = entries;
    offset = payloadAt + length;
    return true;
  }

  private long size() {
    try {
      return channel.size();
    } catch (IOException e) {
      throw unreadable(file, e);
    }
  }

  /** Reads into {@link #bytes}. The caller checks the length against the size of the file. */
  private ByteReader read(long at, int length) {
    if (bytes.length < length) {
      bytes = new byte[Math.max(length, 2 * HeapCellsFormat.SECTION_BYTES)];
    }
    try {
      for (int done = 0; done < length; ) {
        int count = LocalFiles.read(channel, at + done, bytes, done, length - done);
        if (count < 0) {
          throw damaged(at + done, length + " bytes from " + at, "the end of the file");
        }
        done += count;
      }
    } catch (IOException e) {
      throw unreadable(file, e);
    }
    return new ByteReader(bytes, 0, length);
  }

  @Override
  public byte[] key() {
    return key.array();
  }

  @Override
  public int keyLength() {
    return key.length();
  }

  @Override
  public byte[] value() {
    return value.array();
  }

  @Override
  public int valueLength() {
    return value.length();
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw unreadable(file, e);
    }
  }
}
