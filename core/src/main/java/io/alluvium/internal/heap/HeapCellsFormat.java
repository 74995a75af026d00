package io.alluvium.internal.heap;

/**
 * The file of a heap table's snapshot; see {@code docs/formats/heap-cells.md}. All numbers are big
 * endian.
 *
 * <pre>
 *   | header | section | section | ... | footer | tail |
 *
 *   header   0        8         10     12                    16
 *            | magic  | version | zero | CRC32C of 0 .. 12   |
 *   section  0           2          6         10               14                                    18
 *            | key group | state id | entries | payload length | CRC32C of 0 .. 14 and the payload   | payload
 *   tail     0               8               12                                     16      24
 *            | footer offset | footer length | CRC32C of the footer and 0 .. 12     | magic |
 * </pre>
 */
final class HeapCellsFormat {

  /** The format's name in a materialization. */
  static final String NAME = "heap-cells-1";

  /** Local name of the only file. */
  static final String FILE = "heap.cells";

  /** {@code ALLUVCEL}, at the start and the end of the file. */
  static final long MAGIC = 0x414c4c555643454cL;

  static final int VERSION = 1;

  static final int HEADER_BYTES = 16;
  static final int HEADER_VERSION_AT = 8;
  static final int HEADER_CRC_AT = 12;

  static final int SECTION_HEADER_BYTES = 18;
  static final int SECTION_CRC_AT = 14;

  static final int TAIL_BYTES = 24;
  static final int TAIL_CRC_AT = 12;
  static final int TAIL_MAGIC_AT = 16;

  /** A section ends with the first entry at which it reaches this size. */
  static final int SECTION_BYTES = 64 << 10;

  private HeapCellsFormat() {}
}
