package io.alluvium.internal.heap;

import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.TableScan;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Walks pinned cells, one after the other. Made on the task thread; then confined to one thread,
 * which may be another: what is pinned does not change.
 */
final class HeapScan implements TableScan {

  /** A pinned cell; sorted only when the scan gets there. */
  private record Pinned(Cell cell, Supplier<CellCursor> cursor) {}

  private final HeapTable table;
  private final List<Pinned> pinned = new ArrayList<>();
  private final ByteWriter value = new ByteWriter(0);
  private int nextCell;
  private @Nullable CellCursor cursor;
  private boolean closed;

  HeapScan(HeapTable table) {
    this.table = table;
  }

  /** Adds the rows of a cell that start with a part of a row. */
  void addRows(Cell cell, byte[] rowPrefix) {
    @Nullable Object[] contents = cell.pinAll();
    pinned.add(new Pinned(cell, () -> CellCursor.over(cell.prefix, contents, rowPrefix)));
  }

  /** Adds one row of a cell. */
  void addRow(Cell cell, Cell.Place at) {
    Object content = cell.pinRow(at);
    if (content == null) {
      cell.unpin();
      return;
    }
    byte[] userKeyPrefix = java.util.Arrays.copyOfRange(at.array, at.rowTo, at.keyTo);
    pinned.add(new Pinned(cell, () -> CellCursor.overRow(cell.prefix, content, userKeyPrefix)));
  }

  @Override
  public boolean next() {
    table.checkOpen();
    while (!closed) {
      if (cursor != null && cursor.next()) {
        value.clear();
        value.writeBytes(cursor.valueArray(), cursor.valueOffset(), cursor.valueLength());
        return true;
      }
      if (nextCell == pinned.size()) {
        return false;
      }
      cursor = pinned.get(nextCell++).cursor().get();
    }
    throw new IllegalStateException("the scan is closed");
  }

  private CellCursor current() {
    if (cursor == null) {
      throw new IllegalStateException("the scan stands before its first entry");
    }
    return cursor;
  }

  @Override
  public byte[] key() {
    return current().key().array();
  }

  @Override
  public int keyLength() {
    return current().key().length();
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
    if (!closed) {
      closed = true;
      pinned.forEach(each -> each.cell().unpin());
    }
  }
}
