package io.alluvium.internal.heap;

import io.alluvium.serializer.ByteWriter;
import java.util.Arrays;
import java.util.Comparator;
import org.jspecify.annotations.Nullable;

/**
 * Walks what a pin of a cell holds, ascending by key. Confined to one thread, which need not be the
 * task's.
 */
final class CellCursor {

  private static final Comparator<Object> BY_ROW =
      (a, b) ->
          Arrays.compareUnsigned(
              Cell.rowArray(a),
              Cell.rowOffset(a),
              Cell.rowEnd(a),
              Cell.rowArray(b),
              Cell.rowOffset(b),
              Cell.rowEnd(b));

  private final byte[] userKeyPrefix;
  private final Object[] rows;
  private final ByteWriter key = new ByteWriter();
  private final int rowsAt;
  private int nextRow;
  private @Nullable SortedRow row;
  private int rowLength;
  private int blockIndex;
  private int entryIndex;
  private Object entry = new byte[1];

  private CellCursor(byte[] prefix, Object[] rows, byte[] userKeyPrefix) {
    this.rows = rows;
    this.userKeyPrefix = userKeyPrefix;
    key.writeBytes(prefix);
    rowsAt = prefix.length;
  }

  /**
   * Over many rows.
   *
   * @param contents of the cell; {@code null} in between
   * @param rowPrefix what the rows that are wanted start with
   */
  static CellCursor over(byte[] prefix, @Nullable Object[] contents, byte[] rowPrefix) {
    Object[] rows = new Object[contents.length];
    int count = 0;
    for (Object content : contents) {
      if (content != null && Cell.rowStartsWith(content, rowPrefix, 0, rowPrefix.length)) {
        rows[count++] = content;
      }
    }
    Object[] sorted = Arrays.copyOf(rows, count);
    Arrays.sort(sorted, BY_ROW);
    return new CellCursor(prefix, sorted, new byte[0]);
  }

  /** Over one row, from the keys that start with {@code userKeyPrefix}. */
  static CellCursor overRow(byte[] prefix, Object content, byte[] userKeyPrefix) {
    return new CellCursor(prefix, new Object[] {content}, userKeyPrefix);
  }

  boolean next() {
    while (true) {
      if (row != null) {
        if (nextOf(row)) {
          return true;
        }
        row = null;
      }
      if (nextRow == rows.length) {
        return false;
      }
      Object content = rows[nextRow++];
      key.setLength(rowsAt);
      int from = Cell.rowOffset(content);
      key.writeBytes(Cell.rowArray(content), from, Cell.rowEnd(content) - from);
      if (content instanceof SortedRow sorted) {
        row = sorted;
        rowLength = key.length();
        blockIndex = 0;
        entryIndex = 0;
      } else if (userKeyPrefix.length == 0) {
        entry = content;
        return true;
      }
    }
  }

  private boolean nextOf(SortedRow sorted) {
    for (; blockIndex < sorted.blockCount(); blockIndex++, entryIndex = 0) {
      Block block = sorted.block(blockIndex);
      while (entryIndex < block.count()) {
        Object candidate = block.get(entryIndex++);
        if (Entries.keyStartsWith(candidate, userKeyPrefix, 0, userKeyPrefix.length)) {
          entry = candidate;
          byte[] array = Entries.array(candidate);
          int from = Entries.keyOffset(array);
          key.setLength(rowLength);
          key.writeBytes(array, from, Entries.keyEnd(array) - from);
          return true;
        }
      }
    }
    return false;
  }

  /** The whole key; valid until the next call. */
  ByteWriter key() {
    return key;
  }

  byte[] valueArray() {
    return Entries.array(entry);
  }

  int valueOffset() {
    return Entries.keyEnd(Entries.array(entry));
  }

  int valueLength() {
    return Entries.end(entry) - valueOffset();
  }
}
