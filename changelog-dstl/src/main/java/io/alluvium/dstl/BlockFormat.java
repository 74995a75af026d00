package io.alluvium.dstl;

import io.alluvium.spi.Changelog;
import io.alluvium.spi.Operation;

/**
 * Where everything stands in a block, see {@code docs/formats/segment.md}.
 *
 * <pre>
 *   0        52            52 + 16 n                              + 4
 *   | header | chunk table | key-group directory | CRC of both | chunk | chunk | ...
 * </pre>
 *
 * <p>A chunk holds the changes of one or more whole key groups. A change is {@code [sqn - the one
 * before it in its key group: varint][key length << 2 | operation - 1: varint][value length:
 * varint, PUT and MERGE only][key][value]}; the first of a key group counts from the block's first
 * sequence number.
 */
final class BlockFormat {

  /** The version that this build writes; it reads every version from 1 to it. */
  static final int VERSION = 1;

  /** {@code ALVB}. */
  static final int MAGIC = 0x414c5642;

  static final int MAGIC_AT = 0;
  static final int VERSION_AT = 4;
  static final int CODEC_AT = 5;
  static final int RESERVED_AT = 6;
  static final int CHANGELOG_AT = 8;
  static final int FROM_AT = 16;
  static final int TO_AT = 24;
  static final int RAW_LENGTH_AT = 32;
  static final int STORED_LENGTH_AT = 36;
  static final int CHUNKS_AT = 40;
  static final int DIRECTORY_LENGTH_AT = 44;
  static final int HEADER_CRC_AT = 48;
  static final int HEADER_LENGTH = 52;

  static final int CHUNK_RAW_LENGTH_AT = 0;
  static final int CHUNK_STORED_LENGTH_AT = 4;
  static final int CHUNK_KEY_GROUPS_AT = 8;
  static final int CHUNK_CRC_AT = 12;
  static final int CHUNK_ENTRY_LENGTH = 16;

  static final int DIRECTORY_CRC_LENGTH = 4;

  /** A chunk is closed before the key group that would make it longer than this. */
  static final int CHUNK_TARGET_BYTES = 64 << 10;

  /** The longest key and value of one change together. */
  static final int MAX_CHANGE_BYTES = Changelog.MAX_CHANGE_BYTES;

  private BlockFormat() {}

  /** How chunks are stored. */
  enum Codec {
    NONE(0),
    /** A chunk that LZ4 does not make smaller is stored as it is: both lengths are then equal. */
    LZ4(1);

    private final int code;

    Codec(int code) {
      this.code = code;
    }

    /** The stored form, one byte. */
    int code() {
      return code;
    }
  }

  /** Bytes of the table and directory part behind the header. */
  static int tableLength(int chunks, int directoryLength) {
    return chunks * CHUNK_ENTRY_LENGTH + directoryLength + DIRECTORY_CRC_LENGTH;
  }

  /** Key length and operation of a change in one number. */
  static int pack(Operation operation, int keyLength) {
    return keyLength << 2 | (operation.code() - 1);
  }

  static int keyLength(int packed) {
    return packed >>> 2;
  }

  static int operationCode(int packed) {
    return (packed & 3) + 1;
  }

  /** Whether a change with this packed number carries a value: PUT and MERGE do. */
  static boolean hasValue(int packed) {
    int operation = packed & 3;
    return operation == 0 || operation == 3;
  }
}
