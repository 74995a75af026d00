package io.alluvium.internal.heap;

import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.TableScan;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over pinned partitions. Created on the task thread, then confined to one thread, which
 * may be another one: the content of a pin does not change.
 */
final class HeapScan implements TableScan {

  /** A pinned partition; sorted only when the scan reaches it. */
  private record Pinned(Partition partition, Supplier<PartitionCursor> cursor) {}

  private final HeapTable table;
  private final List<Pinned> pinned = new ArrayList<>();
  private final ByteWriter value = new ByteWriter(0);
  private int nextPartition;
  private @Nullable PartitionCursor cursor;
  private boolean closed;

  HeapScan(HeapTable table) {
    this.table = table;
  }

  /** Adds the rows of a partition that start with a prefix. */
  void addRows(Partition partition, byte[] rowPrefix) {
    @Nullable Object[] contents = partition.pinAll();
    pinned.add(
        new Pinned(partition, () -> PartitionCursor.over(partition.prefix, contents, rowPrefix)));
  }

  /** Adds one row of a partition. */
  void addRow(Partition partition, Partition.KeyView view) {
    Object content = partition.pinRow(view);
    if (content == null) {
      partition.unpin();
      return;
    }
    byte[] userKeyPrefix = java.util.Arrays.copyOfRange(view.array, view.rowTo, view.keyTo);
    pinned.add(
        new Pinned(
            partition, () -> PartitionCursor.overRow(partition.prefix, content, userKeyPrefix)));
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
      if (nextPartition == pinned.size()) {
        return false;
      }
      cursor = pinned.get(nextPartition++).cursor().get();
    }
    throw new IllegalStateException("the scan is closed");
  }

  private PartitionCursor current() {
    if (cursor == null) {
      throw new IllegalStateException("the scan is before its first entry; call next() first");
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
      pinned.forEach(each -> each.partition().unpin());
    }
  }
}
