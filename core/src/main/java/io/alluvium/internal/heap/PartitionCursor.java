package io.alluvium.internal.heap;

import io.alluvium.serializer.ByteWriter;
import java.util.Arrays;
import java.util.Comparator;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over the pinned content of a partition, ascending by key. Confined to one thread, which
 * need not be the task thread.
 */
final class PartitionCursor {

  private static final Comparator<Object> BY_ROW =
      (a, b) ->
          Arrays.compareUnsigned(
              Partition.rowArray(a),
              Partition.rowOffset(a),
              Partition.rowEnd(a),
              Partition.rowArray(b),
              Partition.rowOffset(b),
              Partition.rowEnd(b));

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

  private PartitionCursor(byte[] prefix, Object[] rows, byte[] userKeyPrefix) {
    this.rows = rows;
    this.userKeyPrefix = userKeyPrefix;
    key.writeBytes(prefix);
    rowsAt = prefix.length;
  }

  /**
   * A cursor over many rows.
   *
   * @param contents of the partition's slots; {@code null} for free ones
   * @param rowPrefix prefix of the rows to visit
   */
  static PartitionCursor over(byte[] prefix, @Nullable Object[] contents, byte[] rowPrefix) {
    Object[] rows = new Object[contents.length];
    int count = 0;
    for (Object content : contents) {
      if (content != null && Partition.rowStartsWith(content, rowPrefix, 0, rowPrefix.length)) {
        rows[count++] = content;
      }
    }
    Object[] sorted = Arrays.copyOf(rows, count);
    Arrays.sort(sorted, BY_ROW);
    return new PartitionCursor(prefix, sorted, new byte[0]);
  }

  /** A cursor over the keys of one row that start with {@code userKeyPrefix}. */
  static PartitionCursor overRow(byte[] prefix, Object content, byte[] userKeyPrefix) {
    return new PartitionCursor(prefix, new Object[] {content}, userKeyPrefix);
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
      int from = Partition.rowOffset(content);
      key.writeBytes(Partition.rowArray(content), from, Partition.rowEnd(content) - from);
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
