package io.alluvium.dstl;

import io.alluvium.KeyGroupRange;
import io.alluvium.spi.KeyLayout;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * Turns the raw changes of a sealed block into its durable form. Confined to one thread at a time;
 * keeps its working arrays from one block to the next.
 */
final class BlockEncoder {

  /*
   * A counting sort by key group, stable because changes are visited in order both times:
   *   1. count changes and exact encoded bytes of every key group;
   *   2. lay the key groups out ascending, cut them into chunks, write the directory;
   *   3. visit the changes again and write each at its key group's cursor.
   * Without compression step 3 writes straight into the result; with it, into `plain`, from which each chunk is
   * compressed. All sizes are known after step 1, so that nothing grows and nothing is copied twice.
   */

  /** A sealed block: what was appended, and what it is called. */
  record Source(
      long changelogId,
      KeyGroupRange keyGroups,
      long fromSqn,
      int changes,
      byte[] raw,
      int length) {}

  /** The durable form; {@code length} bytes of the buffer. */
  record Encoded(BufferPool.Buffer buffer, int length) {}

  private static final int MAX_KEPT_BYTES = 2 * BufferPool.ARRAY_BYTES;

  private final BlockFormat.Codec codec;
  private final CRC32C crc = new CRC32C();

  // By key group, counted from the first of the changelog.
  private int[] counts = new int[0];
  private int[] bytes = new int[0];
  private int[] cursors = new int[0];
  private int[] lastSqn = new int[0];

  // By chunk.
  private int[] chunkBytes = new int[8];
  private int[] chunkKeyGroups = new int[8];
  private int chunks;
  private int directoryLength;
  private int rawLength;

  private byte[] plain = new byte[0];
  private byte[] packed = new byte[0];

  BlockEncoder(BlockFormat.Codec codec) {
    this.codec = codec;
  }

  /**
   * Encodes a block.
   *
   * @throws TornLogException when it does not hold exactly the changes that it is said to hold
   */
  Encoded encode(Source source, BufferPool pool) {
    prepare(source.keyGroups().size());
    count(source);
    plan(source.keyGroups());
    int head = BlockFormat.HEADER_LENGTH + BlockFormat.tableLength(chunks, directoryLength);
    Encoded encoded =
        codec == BlockFormat.Codec.NONE
            ? encodePlain(source, head, pool)
            : encodeCompressed(source, head, pool);
    if (plain.length > MAX_KEPT_BYTES) {
      plain = new byte[0];
      packed = new byte[0];
    }
    return encoded;
  }

  private void prepare(int keyGroups) {
    if (counts.length < keyGroups) {
      counts = new int[keyGroups];
      bytes = new int[keyGroups];
      cursors = new int[keyGroups];
      lastSqn = new int[keyGroups];
    } else {
      Arrays.fill(counts, 0, keyGroups, 0);
      Arrays.fill(bytes, 0, keyGroups, 0);
      Arrays.fill(lastSqn, 0, keyGroups, 0);
    }
  }

  private void count(Source source) {
    byte[] raw = source.raw();
    int length = source.length();
    int first = source.keyGroups().from();
    int sqn = 0;
    for (int at = 0; at < length; sqn++) {
      checkFits(source, at, RawChanges.HEADER_LENGTH + KeyLayout.KEY_GROUP_BYTES);
      int head = RawChanges.packed(raw, at);
      int keyLength = BlockFormat.keyLength(head);
      int valueLength = RawChanges.valueLength(raw, at);
      int group = KeyLayout.keyGroup(raw, at + RawChanges.HEADER_LENGTH) - first;
      if (keyLength < KeyLayout.KEY_GROUP_BYTES
          || valueLength < 0
          || Integer.compareUnsigned(group, source.keyGroups().size()) >= 0) {
        throw torn(source, "an impossible change at byte " + at);
      }
      checkFits(source, at, (long) RawChanges.HEADER_LENGTH + keyLength + valueLength);
      int size =
          Bytes.varIntLength(sqn - lastSqn[group])
              + Bytes.varIntLength(head)
              + keyLength
              + valueLength;
      if (BlockFormat.hasValue(head)) {
        size += Bytes.varIntLength(valueLength);
      }
      counts[group]++;
      bytes[group] += size;
      lastSqn[group] = sqn;
      at += RawChanges.HEADER_LENGTH + keyLength + valueLength;
    }
    if (sqn != source.changes()) {
      throw torn(source, sqn + " changes");
    }
    Arrays.fill(lastSqn, 0, source.keyGroups().size(), 0);
  }

  private static void checkFits(Source source, int at, long bytes) {
    if (at + bytes > source.length()) {
      throw torn(source, "a change at byte " + at + " that ends beyond " + source.length());
    }
  }

  private static TornLogException torn(Source source, String found) {
    return new TornLogException(
        "the block of changes ["
            + source.fromSqn()
            + ", "
            + (source.fromSqn() + source.changes())
            + ") holds "
            + found);
  }

  /** Cuts chunks at key-group borders, places the cursors and sizes the directory. */
  private void plan(KeyGroupRange keyGroups) {
    chunks = 0;
    directoryLength = 0;
    rawLength = 0;
    int before = 0;
    for (int group = 0; group < keyGroups.size(); group++) {
      if (counts[group] == 0) {
        continue;
      }
      int keyGroup = keyGroups.from() + group;
      directoryLength +=
          Bytes.varIntLength(keyGroup - before)
              + Bytes.varIntLength(counts[group])
              + Bytes.varIntLength(bytes[group]);
      before = keyGroup;
      if (chunks == 0 || chunkBytes[chunks - 1] + bytes[group] > BlockFormat.CHUNK_TARGET_BYTES) {
        newChunk();
      }
      chunkBytes[chunks - 1] += bytes[group];
      chunkKeyGroups[chunks - 1]++;
      cursors[group] = rawLength;
      rawLength += bytes[group];
    }
  }

  private void newChunk() {
    if (chunks == chunkBytes.length) {
      chunkBytes = Arrays.copyOf(chunkBytes, 2 * chunks);
      chunkKeyGroups = Arrays.copyOf(chunkKeyGroups, 2 * chunks);
    }
    chunkBytes[chunks] = 0;
    chunkKeyGroups[chunks] = 0;
    chunks++;
  }

  private Encoded encodePlain(Source source, int head, BufferPool pool) {
    BufferPool.Buffer buffer = pool.take(head + rawLength);
    byte[] out = buffer.array();
    scatter(source, out, head);
    int at = head;
    for (int chunk = 0; chunk < chunks; chunk++) {
      writeChunkEntry(out, chunk, at, chunkBytes[chunk]);
      at += chunkBytes[chunk];
    }
    writeHead(source, out, rawLength);
    return new Encoded(buffer, at);
  }

  private Encoded encodeCompressed(Source source, int head, BufferPool pool) {
    int largest = 0;
    for (int chunk = 0; chunk < chunks; chunk++) {
      largest = Math.max(largest, chunkBytes[chunk]);
    }
    // Chunks before the one being compressed take at most their raw length.
    int room = head + rawLength + Lz4.maxCompressedLength(largest) - largest;
    plain = plain.length < rawLength ? new byte[rawLength] : plain;
    packed = packed.length < room ? new byte[room] : packed;
    scatter(source, plain, 0);
    int from = 0;
    int at = head;
    for (int chunk = 0; chunk < chunks; chunk++) {
      int raw = chunkBytes[chunk];
      int stored = Lz4.compress(plain, from, raw, packed, at);
      if (stored >= raw) {
        System.arraycopy(plain, from, packed, at, raw);
        stored = raw;
      }
      writeChunkEntry(packed, chunk, at, stored);
      from += raw;
      at += stored;
    }
    writeHead(source, packed, at - head);
    BufferPool.Buffer buffer = pool.take(at);
    System.arraycopy(packed, 0, buffer.array(), 0, at);
    return new Encoded(buffer, at);
  }

  /** Writes every change into its key group's part of {@code out}, which starts at {@code base}. */
  private void scatter(Source source, byte[] out, int base) {
    byte[] raw = source.raw();
    int first = source.keyGroups().from();
    int sqn = 0;
    for (int at = 0; at < source.length(); sqn++) {
      int head = RawChanges.packed(raw, at);
      int valueLength = RawChanges.valueLength(raw, at);
      int keyAt = at + RawChanges.HEADER_LENGTH;
      int length = BlockFormat.keyLength(head) + valueLength;
      int group = KeyLayout.keyGroup(raw, keyAt) - first;
      int to = base + cursors[group];
      to = Bytes.putVarInt(out, to, sqn - lastSqn[group]);
      to = Bytes.putVarInt(out, to, head);
      if (BlockFormat.hasValue(head)) {
        to = Bytes.putVarInt(out, to, valueLength);
      }
      System.arraycopy(raw, keyAt, out, to, length);
      cursors[group] = to + length - base;
      lastSqn[group] = sqn;
      at = keyAt + length;
    }
  }

  private void writeChunkEntry(byte[] out, int chunk, int storedAt, int stored) {
    int at = BlockFormat.HEADER_LENGTH + chunk * BlockFormat.CHUNK_ENTRY_LENGTH;
    Bytes.putInt(out, at + BlockFormat.CHUNK_RAW_LENGTH_AT, chunkBytes[chunk]);
    Bytes.putInt(out, at + BlockFormat.CHUNK_STORED_LENGTH_AT, stored);
    Bytes.putInt(out, at + BlockFormat.CHUNK_KEY_GROUPS_AT, chunkKeyGroups[chunk]);
    Bytes.putInt(out, at + BlockFormat.CHUNK_CRC_AT, crc(out, storedAt, stored));
  }

  private void writeHead(Source source, byte[] out, int storedLength) {
    Bytes.putInt(out, BlockFormat.MAGIC_AT, BlockFormat.MAGIC);
    out[BlockFormat.VERSION_AT] = BlockFormat.VERSION;
    out[BlockFormat.CODEC_AT] = (byte) codec.code();
    Bytes.putShort(out, BlockFormat.RESERVED_AT, 0);
    Bytes.putLong(out, BlockFormat.CHANGELOG_AT, source.changelogId());
    Bytes.putLong(out, BlockFormat.FROM_AT, source.fromSqn());
    Bytes.putLong(out, BlockFormat.TO_AT, source.fromSqn() + source.changes());
    Bytes.putInt(out, BlockFormat.RAW_LENGTH_AT, rawLength);
    Bytes.putInt(out, BlockFormat.STORED_LENGTH_AT, storedLength);
    Bytes.putInt(out, BlockFormat.CHUNKS_AT, chunks);
    Bytes.putInt(out, BlockFormat.DIRECTORY_LENGTH_AT, directoryLength);
    Bytes.putInt(out, BlockFormat.HEADER_CRC_AT, crc(out, 0, BlockFormat.HEADER_CRC_AT));

    int at = BlockFormat.HEADER_LENGTH + chunks * BlockFormat.CHUNK_ENTRY_LENGTH;
    int before = 0;
    for (int group = 0; group < source.keyGroups().size(); group++) {
      if (counts[group] != 0) {
        int keyGroup = source.keyGroups().from() + group;
        at = Bytes.putVarInt(out, at, keyGroup - before);
        at = Bytes.putVarInt(out, at, counts[group]);
        at = Bytes.putVarInt(out, at, bytes[group]);
        before = keyGroup;
      }
    }
    int tableAt = BlockFormat.HEADER_LENGTH;
    Bytes.putInt(out, at, crc(out, tableAt, at - tableAt));
  }

  private int crc(byte[] array, int offset, int length) {
    crc.reset();
    crc.update(array, offset, length);
    return (int) crc.getValue();
  }
}
