package io.alluvium.dstl;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteReader;
import io.alluvium.spi.BlockRef;

/**
 * A block's header, chunk table and key-group directory, verified. Immutable once read.
 *
 * <p>Offsets of chunks count from the first chunk, raw offsets of key groups from the first byte of
 * the first chunk's raw form.
 */
final class BlockHead {

  private final BlockRef ref;
  private final String blob;

  private long changelogId;
  private BlockFormat.Codec codec = BlockFormat.Codec.NONE;
  private int rawLength;
  private int storedLength;
  private int directoryLength;

  private int[] chunkRawAt = new int[1];
  private int[] chunkStoredAt = new int[1];
  private int[] chunkCrc = new int[0];
  private int[] chunkKeyGroups = new int[0];

  private int[] keyGroups = new int[0];
  private int[] counts = new int[0];
  private int[] keyGroupRawAt = new int[1];

  private BlockHead(BlockRef ref) {
    this.ref = ref;
    this.blob = ref.blob().toString();
  }

  /** Reads the head from {@code in}, which stands at the block's first byte. */
  static BlockHead read(BlockRef ref, BlobInput in) {
    BlockHead head = new BlockHead(ref);
    head.readHeader(in.read(BlockFormat.HEADER_LENGTH));
    head.readTable(in.read(BlockFormat.tableLength(head.chunks(), head.directoryLength)));
    return head;
  }

  private void readHeader(byte[] header) {
    long at = ref.offset();
    SegmentFormat.expectMagic(
        blob, at, "a block", BlockFormat.MAGIC, Bytes.getInt(header, BlockFormat.MAGIC_AT));
    SegmentFormat.expectCrc(
        blob,
        at,
        "a block header",
        Bytes.getInt(header, BlockFormat.HEADER_CRC_AT),
        header,
        0,
        BlockFormat.HEADER_CRC_AT);
    SegmentFormat.checkVersion(
        blob, "block", header[BlockFormat.VERSION_AT] & 0xff, BlockFormat.VERSION);
    codec = codec(at + BlockFormat.CODEC_AT, header[BlockFormat.CODEC_AT] & 0xff);
    expect(BlockFormat.RESERVED_AT, "reserved", 0, Bytes.getShort(header, BlockFormat.RESERVED_AT));
    changelogId = Bytes.getLong(header, BlockFormat.CHANGELOG_AT);
    expect(
        BlockFormat.FROM_AT,
        "first sequence number",
        ref.fromSqn(),
        Bytes.getLong(header, BlockFormat.FROM_AT));
    expect(
        BlockFormat.TO_AT,
        "end of sequence numbers",
        ref.toSqn(),
        Bytes.getLong(header, BlockFormat.TO_AT));
    rawLength = Bytes.getInt(header, BlockFormat.RAW_LENGTH_AT);
    storedLength = Bytes.getInt(header, BlockFormat.STORED_LENGTH_AT);
    directoryLength = Bytes.getInt(header, BlockFormat.DIRECTORY_LENGTH_AT);
    int chunks = Bytes.getInt(header, BlockFormat.CHUNKS_AT);
    long length =
        BlockFormat.HEADER_LENGTH
            + (long) chunks * BlockFormat.CHUNK_ENTRY_LENGTH
            + directoryLength
            + BlockFormat.DIRECTORY_CRC_LENGTH
            + storedLength;
    if (chunks < 1 || directoryLength < 1 || storedLength < 1 || length != ref.length()) {
      throw StateBackendException.corrupt(
          blob,
          at + BlockFormat.STORED_LENGTH_AT,
          "lengths that add up to the block's " + ref.length() + " bytes",
          chunks + " chunks, " + directoryLength + " and " + storedLength + " bytes");
    }
    chunkRawAt = new int[chunks + 1];
    chunkStoredAt = new int[chunks + 1];
    chunkCrc = new int[chunks];
    chunkKeyGroups = new int[chunks];
  }

  private BlockFormat.Codec codec(long at, int code) {
    for (BlockFormat.Codec known : BlockFormat.Codec.values()) {
      if (known.code() == code) {
        return known;
      }
    }
    throw StateBackendException.corrupt(blob, at, "codec 0 or 1", code);
  }

  private void expect(int at, String what, long expected, long found) {
    SegmentFormat.expect(blob, ref.offset() + at, what, expected, found);
  }

  private void readTable(byte[] table) {
    long tableAt = ref.offset() + BlockFormat.HEADER_LENGTH;
    int crcAt = table.length - BlockFormat.DIRECTORY_CRC_LENGTH;
    SegmentFormat.expectCrc(
        blob,
        tableAt,
        "a chunk table and key-group directory",
        Bytes.getInt(table, crcAt),
        table,
        0,
        crcAt);
    // From here on only a defect of the writer can be found: the checksum is right.
    int entries = 0;
    for (int chunk = 0; chunk < chunks(); chunk++) {
      int at = chunk * BlockFormat.CHUNK_ENTRY_LENGTH;
      int raw = Bytes.getInt(table, at + BlockFormat.CHUNK_RAW_LENGTH_AT);
      int stored = Bytes.getInt(table, at + BlockFormat.CHUNK_STORED_LENGTH_AT);
      int groups = Bytes.getInt(table, at + BlockFormat.CHUNK_KEY_GROUPS_AT);
      boolean packed = codec == BlockFormat.Codec.LZ4;
      check(tableAt + at, "a chunk of at least 1 byte", raw >= 1 && stored >= 1, raw);
      check(tableAt + at, "stored <= raw length", packed ? stored <= raw : stored == raw, stored);
      // LZ4 never does better than 1 : 255, which bounds what is allocated.
      check(tableAt + at, "raw <= 255 x stored length", raw / 255 <= stored, raw);
      check(tableAt + at, "key groups", groups >= 1 && groups <= directoryLength, groups);
      chunkRawAt[chunk + 1] = chunkRawAt[chunk] + raw;
      chunkStoredAt[chunk + 1] = chunkStoredAt[chunk] + stored;
      chunkCrc[chunk] = Bytes.getInt(table, at + BlockFormat.CHUNK_CRC_AT);
      chunkKeyGroups[chunk] = groups;
      entries += groups;
      check(tableAt + at, "rising offsets", chunkRawAt[chunk + 1] > chunkRawAt[chunk], raw);
      check(tableAt + at, "directory entries", entries <= directoryLength, entries);
    }
    check(tableAt, "raw length " + rawLength, chunkRawAt[chunks()] == rawLength, rawLength);
    check(
        tableAt, "stored length", chunkStoredAt[chunks()] == storedLength, chunkStoredAt[chunks()]);
    int directoryAt = chunks() * BlockFormat.CHUNK_ENTRY_LENGTH;
    readDirectory(new ByteReader(table, directoryAt, directoryLength), entries);
  }

  private void readDirectory(ByteReader in, int entries) {
    long directoryAt = payloadOffset() - BlockFormat.DIRECTORY_CRC_LENGTH - directoryLength;
    keyGroups = new int[entries];
    counts = new int[entries];
    keyGroupRawAt = new int[entries + 1];
    long changes = 0;
    int chunk = 0;
    int leftInChunk = chunkKeyGroups[0];
    for (int i = 0; i < entries; i++) {
      int step = varInt(in);
      int keyGroup = i == 0 ? step : keyGroups[i - 1] + step;
      boolean ascending = step >= (i == 0 ? 0 : 1) && keyGroup < KeyGroupRange.MAX_KEY_GROUPS;
      check(directoryAt, "ascending key groups", ascending, keyGroup);
      keyGroups[i] = keyGroup;
      counts[i] = varInt(in);
      check(directoryAt, "at least 1 change", counts[i] >= 1, counts[i]);
      changes += counts[i];
      int length = varInt(in);
      int room = chunkRawAt[chunk + 1] - keyGroupRawAt[i];
      check(directoryAt, "at most " + room + " bytes", length >= 1 && length <= room, length);
      keyGroupRawAt[i + 1] = keyGroupRawAt[i] + length;
      leftInChunk--;
      if (leftInChunk == 0) {
        check(directoryAt, "a chunk's " + room + " bytes", length == room, length);
        chunk++;
        leftInChunk = chunk < chunks() ? chunkKeyGroups[chunk] : 0;
      }
    }
    check(directoryAt, "no bytes left", in.remaining() == 0, in.remaining());
    long dense = ref.toSqn() - ref.fromSqn();
    check(directoryAt, dense + " changes", changes == dense, changes);
  }

  private int varInt(ByteReader in) {
    try {
      return in.readVarInt();
    } catch (StateBackendException e) {
      throw StateBackendException.of(
          e.kind(), "the key-group directory of a block in blob '" + blob + "' ends early", e);
    }
  }

  private void check(long offset, String expected, boolean right, long found) {
    if (!right) {
      throw StateBackendException.corrupt(blob, offset, expected, found);
    }
  }

  BlockRef ref() {
    return ref;
  }

  String blob() {
    return blob;
  }

  long changelogId() {
    return changelogId;
  }

  BlockFormat.Codec codec() {
    return codec;
  }

  int chunks() {
    return chunkCrc.length;
  }

  int chunkCrc(int chunk) {
    return chunkCrc[chunk];
  }

  /** Where a chunk's raw form begins; also defined for one past the last chunk. */
  int chunkRawAt(int chunk) {
    return chunkRawAt[chunk];
  }

  /** Where a chunk's stored form begins; also defined for one past the last chunk. */
  int chunkStoredAt(int chunk) {
    return chunkStoredAt[chunk];
  }

  /** Offset in the blob of the first chunk. */
  long payloadOffset() {
    return ref.offset()
        + BlockFormat.HEADER_LENGTH
        + BlockFormat.tableLength(chunks(), directoryLength);
  }

  /** How many key groups have changes. */
  int entries() {
    return keyGroups.length;
  }

  int keyGroup(int entry) {
    return keyGroups[entry];
  }

  int count(int entry) {
    return counts[entry];
  }

  /** Where an entry's changes begin; also defined for one past the last entry. */
  int keyGroupRawAt(int entry) {
    return keyGroupRawAt[entry];
  }

  /** The chunk that holds a raw offset; one past the last chunk for the end. */
  int chunkOf(int rawAt) {
    int chunk = 0;
    while (chunk < chunks() && chunkRawAt[chunk + 1] <= rawAt) {
      chunk++;
    }
    return chunk;
  }

  /** The first entry of a key group at or above {@code keyGroup}. */
  int entryAtOrAbove(int keyGroup) {
    int low = 0;
    int high = entries();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (keyGroups[middle] < keyGroup) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
}
