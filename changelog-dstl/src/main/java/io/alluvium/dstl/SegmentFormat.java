package io.alluvium.dstl;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Incarnation;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Where everything stands in a segment, see {@code docs/formats/segment.md}.
 *
 * <pre>
 *   0        28                                            size - 24   size
 *   | header | block | block | ... | footer: index of blocks |  tail  |
 * </pre>
 *
 * <p>Header and tail keep size, magic, version and checksum in place in every version, so that a
 * reader tells a newer segment from a damaged one.
 */
final class SegmentFormat {

  /** The version that this build writes; it reads every version from 1 to it. */
  static final int VERSION = 1;

  /** {@code ALVS}. */
  static final int HEADER_MAGIC = 0x414c5653;

  static final int HEADER_MAGIC_AT = 0;
  static final int HEADER_VERSION_AT = 4;
  static final int HEADER_RESERVED_AT = 6;
  static final int HEADER_INCARNATION_AT = 8;
  static final int HEADER_CRC_AT = 24;
  static final int HEADER_LENGTH = 28;

  /** {@code ALVI}. */
  static final int FOOTER_MAGIC = 0x414c5649;

  static final int FOOTER_MAGIC_AT = 0;
  static final int FOOTER_COUNT_AT = 4;
  static final int FOOTER_ENTRIES_AT = 8;
  static final int ENTRY_CHANGELOG_AT = 0;
  static final int ENTRY_FROM_AT = 8;
  static final int ENTRY_TO_AT = 16;
  static final int ENTRY_OFFSET_AT = 24;
  static final int ENTRY_LENGTH_AT = 32;
  static final int ENTRY_LENGTH = 36;
  static final int FOOTER_CRC_LENGTH = 4;

  static final int TAIL_FOOTER_OFFSET_AT = 0;
  static final int TAIL_FOOTER_LENGTH_AT = 8;
  static final int TAIL_VERSION_AT = 12;
  static final int TAIL_RESERVED_AT = 14;

  /** {@code ALVE}. */
  static final int TAIL_MAGIC = 0x414c5645;

  static final int TAIL_MAGIC_AT = 16;
  static final int TAIL_CRC_AT = 20;
  static final int TAIL_LENGTH = 24;

  /** A segment without blocks, which is never written, would have this size. */
  static final int EMPTY_LENGTH =
      HEADER_LENGTH + FOOTER_ENTRIES_AT + FOOTER_CRC_LENGTH + TAIL_LENGTH;

  private SegmentFormat() {}

  /** One line of the index. */
  record Entry(long changelogId, long fromSqn, long toSqn, long offset, int length) {
    BlockRef ref(BlobName blob) {
      return new BlockRef(blob, offset, length, fromSqn, toSqn);
    }
  }

  static byte[] header(Incarnation incarnation) {
    byte[] header = new byte[HEADER_LENGTH];
    Bytes.putInt(header, HEADER_MAGIC_AT, HEADER_MAGIC);
    Bytes.putShort(header, HEADER_VERSION_AT, VERSION);
    Bytes.putLong(header, HEADER_INCARNATION_AT, incarnation.high());
    Bytes.putLong(header, HEADER_INCARNATION_AT + 8, incarnation.low());
    Bytes.putInt(header, HEADER_CRC_AT, crc(header, 0, HEADER_CRC_AT));
    return header;
  }

  static int footerLength(int entries) {
    return FOOTER_ENTRIES_AT + entries * ENTRY_LENGTH + FOOTER_CRC_LENGTH;
  }

  /** Footer and tail in one array. */
  static byte[] footerAndTail(List<Entry> entries, long footerOffset) {
    int footerLength = footerLength(entries.size());
    byte[] end = new byte[footerLength + TAIL_LENGTH];
    Bytes.putInt(end, FOOTER_MAGIC_AT, FOOTER_MAGIC);
    Bytes.putInt(end, FOOTER_COUNT_AT, entries.size());
    int at = FOOTER_ENTRIES_AT;
    for (Entry entry : entries) {
      Bytes.putLong(end, at + ENTRY_CHANGELOG_AT, entry.changelogId());
      Bytes.putLong(end, at + ENTRY_FROM_AT, entry.fromSqn());
      Bytes.putLong(end, at + ENTRY_TO_AT, entry.toSqn());
      Bytes.putLong(end, at + ENTRY_OFFSET_AT, entry.offset());
      Bytes.putInt(end, at + ENTRY_LENGTH_AT, entry.length());
      at += ENTRY_LENGTH;
    }
    Bytes.putInt(end, at, crc(end, 0, at));
    int tail = footerLength;
    Bytes.putLong(end, tail + TAIL_FOOTER_OFFSET_AT, footerOffset);
    Bytes.putInt(end, tail + TAIL_FOOTER_LENGTH_AT, footerLength);
    Bytes.putShort(end, tail + TAIL_VERSION_AT, VERSION);
    Bytes.putInt(end, tail + TAIL_MAGIC_AT, TAIL_MAGIC);
    Bytes.putInt(end, tail + TAIL_CRC_AT, crc(end, tail, TAIL_CRC_AT));
    return end;
  }

  static int crc(byte[] array, int offset, int length) {
    CRC32C crc = new CRC32C();
    crc.update(array, offset, length);
    return (int) crc.getValue();
  }

  /** Throws {@code CORRUPT} unless a stored number has the value it must have. */
  static void expect(String blob, long offset, String what, long expected, long found) {
    if (expected != found) {
      throw StateBackendException.corrupt(
          blob, offset, what + " " + expected, Long.toString(found));
    }
  }

  static void expectMagic(String blob, long offset, String of, int expected, int found) {
    if (expected != found) {
      throw StateBackendException.corrupt(
          blob,
          offset,
          String.format("%08x, the magic number of %s", expected, of),
          String.format("%08x", found));
    }
  }

  /**
   * Throws {@code CORRUPT} unless bytes have the checksum that was stored for them.
   *
   * @param offset where the bytes begin in the blob
   */
  static void expectCrc(
      String blob, long offset, String what, int stored, byte[] bytes, int from, int length) {
    int computed = crc(bytes, from, length);
    if (stored != computed) {
      throw StateBackendException.corrupt(
          blob,
          offset,
          String.format("%s of %d bytes with the checksum %08x", what, length, stored),
          String.format("bytes with the checksum %08x", computed));
    }
  }

  /** Throws {@code INCOMPATIBLE} for a version of the future; its checksum has been checked. */
  static void checkVersion(String blob, String what, int version, int newest) {
    if (version < 1 || version > newest) {
      throw StateBackendException.incompatible(
          "blob '"
              + blob
              + "' holds a "
              + what
              + " of format version "
              + version
              + ", this build reads versions 1 to "
              + newest
              + "; use a newer release of Alluvium");
    }
  }
}
