package io.alluvium.internal.heap;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Execution;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.SortedChanges;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableScan;
import io.alluvium.spi.TableSnapshot;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A table on the heap. Confined to the task thread, except {@link #snapshot}, {@link #close} and,
 * for disjoint key groups, {@link #apply}.
 */
final class HeapTable implements Table {

  /*
   * Key group -> state -> row (by hash) -> value, or user keys in order. Reads and writes of one key cost one hash
   * lookup. A scan of one row reads only that row; a wider scan sorts each partition when it reaches it. Scans and
   * snapshots pin the partitions that they read (see Epochs), and the task copies pinned rows before it changes them.
   */
  private final KeyGroupRange keyGroups;
  private final Execution execution;

  /** Elements are null after close, so that late calls fail instead of finding an empty table. */
  private final @Nullable KeyGroupPartitions[] groups;

  private final Partition.KeyView view = new Partition.KeyView();
  private final Object snapshotLock = new Object();
  private volatile @Nullable HeapSnapshot snapshot;
  private volatile boolean closed;

  HeapTable(KeyGroupRange keyGroups, Execution execution) {
    this.keyGroups = keyGroups;
    this.execution = execution;
    this.groups = new @Nullable KeyGroupPartitions[keyGroups.size()];
    for (int i = 0; i < groups.length; i++) {
      groups[i] = new KeyGroupPartitions(keyGroups.from() + i);
    }
  }

  @Override
  public boolean get(byte[] key, int keyLength, ByteWriter into) {
    KeyGroupPartitions group = group(key, 0);
    int rowLength = KeyLayout.rowLength(key, 0, keyLength);
    if (rowLength > keyLength) {
      return false;
    }
    Partition partition = group.find(locate(view, key, 0, keyLength, rowLength));
    return partition != null && partition.get(view, into);
  }

  @Override
  public void put(byte[] key, int keyLength, byte[] value, int valueLength) {
    int stateId = locate(view, key, 0, keyLength);
    group(key, 0).findOrAdd(stateId).put(view, value, 0, valueLength);
  }

  @Override
  public void delete(byte[] key, int keyLength) {
    Partition partition = group(key, 0).find(locate(view, key, 0, keyLength));
    if (partition != null) {
      partition.delete(view);
    }
  }

  @Override
  public void merge(byte[] key, int keyLength, byte[] operand, int operandLength) {
    int stateId = locate(view, key, 0, keyLength);
    group(key, 0).findOrAdd(stateId).merge(view, operand, 0, operandLength);
  }

  private KeyGroupPartitions group(byte[] key, int offset) {
    int keyGroup = KeyLayout.keyGroup(key, offset);
    if (!keyGroups.contains(keyGroup)) {
      throw StateBackendException.internal(
          "a key of key group "
              + keyGroup
              + " does not belong to a table of key groups "
              + keyGroups);
    }
    return partitions(keyGroup);
  }

  /** Throws {@code CLOSED} after close. */
  private KeyGroupPartitions partitions(int keyGroup) {
    KeyGroupPartitions group = groups[keyGroup - keyGroups.from()];
    if (group == null) {
      throw closedFailure();
    }
    return group;
  }

  /** Parses a whole key and returns its state id. */
  private static int locate(Partition.KeyView view, byte[] key, int offset, int length) {
    int rowLength = KeyLayout.rowLength(key, offset, length);
    if (rowLength > length) {
      throw StateBackendException.internal(
          "a key of " + length + " bytes ends before its namespace does");
    }
    return locate(view, key, offset, length, rowLength);
  }

  private static int locate(
      Partition.KeyView view, byte[] key, int offset, int length, int rowLength) {
    view.array = key;
    view.rowTo = offset + rowLength;
    view.keyTo = offset + length;
    return locateState(view, offset);
  }

  /** Returns the state id after the key group, and sets {@code rowFrom}. */
  private static int locateState(Partition.KeyView view, int offset) {
    int from = offset + KeyLayout.KEY_GROUP_BYTES;
    int stateId = 0;
    for (int shift = 0; ; shift += 7) {
      byte b = view.array[from++];
      stateId |= (b & 0x7f) << shift;
      if (b >= 0) {
        view.rowFrom = from;
        return stateId;
      }
    }
  }

  @Override
  public void deleteRange(byte[] prefix, int prefixLength) {
    checkOpen();
    deleteRange(new Partition.KeyView(), prefix, prefixLength);
  }

  private void deleteRange(Partition.KeyView view, byte[] prefix, int prefixLength) {
    forEachPartition(
        view,
        prefix,
        prefixLength,
        (partition, scope) -> {
          switch (scope) {
            case PARTITION -> partition.clear();
            case ROWS -> partition.deleteRows(prefix, view.rowFrom, prefixLength);
            case ROW -> partition.deleteRow(view);
          }
        });
  }

  @Override
  public TableScan scan(byte[] prefix, int prefixLength) {
    checkOpen();
    HeapScan scan = new HeapScan(this);
    Partition.KeyView view = new Partition.KeyView();
    forEachPartition(
        view,
        prefix,
        prefixLength,
        (partition, scope) -> {
          switch (scope) {
            case PARTITION -> scan.addRows(partition, new byte[0]);
            case ROWS ->
                scan.addRows(partition, Arrays.copyOfRange(prefix, view.rowFrom, prefixLength));
            case ROW -> scan.addRow(partition, view);
          }
        });
    return scan;
  }

  /** The part of a partition that a prefix covers. */
  private enum Scope {
    PARTITION,
    ROWS,
    ROW
  }

  private interface PartitionAction {
    void on(Partition partition, Scope scope);
  }

  /** Visits the partitions that a prefix covers or lies in, ascending. */
  private void forEachPartition(
      Partition.KeyView view, byte[] prefix, int prefixLength, PartitionAction action) {
    int from = keyGroups.from();
    int to = keyGroups.to();
    if (prefixLength == 1) {
      from = Math.max(from, (prefix[0] & 0xff) << 8);
      to = Math.min(to, ((prefix[0] & 0xff) << 8) + 0x100);
    } else if (prefixLength > 1) {
      from = Math.max(from, KeyLayout.keyGroup(prefix, 0));
      to = Math.min(to, KeyLayout.keyGroup(prefix, 0) + 1);
    }
    boolean namesState = false;
    for (int i = KeyLayout.KEY_GROUP_BYTES; i < prefixLength; i++) {
      namesState |= prefix[i] >= 0;
    }
    for (int keyGroup = from; keyGroup < to; keyGroup++) {
      KeyGroupPartitions group = partitions(keyGroup);
      if (namesState) {
        view.array = prefix;
        Partition partition = group.find(locateState(view, 0));
        if (partition != null) {
          action.on(partition, scopeOf(view, prefix, prefixLength));
        }
      } else {
        for (Partition partition : group.inOrder()) {
          if (startsWith(partition.prefix, prefix, prefixLength)) {
            action.on(partition, Scope.PARTITION);
          }
        }
      }
    }
  }

  private static Scope scopeOf(Partition.KeyView view, byte[] prefix, int prefixLength) {
    if (view.rowFrom == prefixLength) {
      return Scope.PARTITION;
    }
    int rowLength = KeyLayout.rowLength(prefix, 0, prefixLength);
    view.rowTo = rowLength;
    view.keyTo = prefixLength;
    return rowLength > prefixLength ? Scope.ROWS : Scope.ROW;
  }

  private static boolean startsWith(byte[] bytes, byte[] prefix, int prefixLength) {
    return prefixLength <= bytes.length
        && Arrays.equals(bytes, 0, prefixLength, prefix, 0, prefixLength);
  }

  @Override
  public void apply(SortedChanges changes) {
    checkOpen();
    Partition.KeyView view = new Partition.KeyView();
    for (byte[] prefix : changes.rangeDeletes()) {
      deleteRange(view, prefix, prefix.length);
    }
    while (changes.next()) {
      byte[] key = changes.keyArray();
      KeyGroupPartitions group = group(key, changes.keyOffset());
      Partition partition =
          group.findOrAdd(locate(view, key, changes.keyOffset(), changes.keyLength()));
      byte[] value = changes.valueArray();
      switch (changes.operation()) {
        case PUT -> partition.put(view, value, changes.valueOffset(), changes.valueLength());
        case MERGE -> partition.merge(view, value, changes.valueOffset(), changes.valueLength());
        case DELETE -> partition.delete(view);
        case DELETE_RANGE ->
            throw StateBackendException.internal("a range deletion is among the sorted changes");
      }
    }
  }

  /** Inserts the entries of a scan that lie in {@code range}, at a restore. */
  void load(TableScan scan, KeyGroupRange range) {
    while (scan.next()) {
      byte[] key = scan.key();
      if (range.contains(KeyLayout.keyGroup(key, 0))) {
        put(key, scan.keyLength(), scan.value(), scan.valueLength());
      }
    }
  }

  @Override
  public CompletableFuture<TableSnapshot> snapshot(Path directory) {
    synchronized (snapshotLock) {
      HeapSnapshot running = snapshot;
      if (closed) {
        return CompletableFuture.failedFuture(closedFailure());
      }
      if (running != null && !running.done().isDone()) {
        return CompletableFuture.failedFuture(
            StateBackendException.internal("a snapshot of this table is already in progress"));
      }
      HeapSnapshot started =
          new HeapSnapshot(
              directory, execution, keyGroups.from(), keyGroups.to(), this::partitions);
      snapshot = started;
      return started.done();
    }
  }

  @Override
  public void advance() {
    HeapSnapshot running = snapshot;
    if (running != null) {
      running.advance();
      if (running.done().isDone()) {
        synchronized (snapshotLock) {
          snapshot = snapshot == running ? null : snapshot;
        }
      }
    }
  }

  @Override
  public TableSnapshot snapshotNow(Path directory) {
    checkOpen();
    try (HeapCellsWriter writer = new HeapCellsWriter(directory)) {
      for (int keyGroup = keyGroups.from(); keyGroup < keyGroups.to(); keyGroup++) {
        for (Partition partition : partitions(keyGroup).inOrder()) {
          @Nullable Object[] contents = partition.pinAll();
          try {
            writer.write(partition, contents);
          } finally {
            partition.unpin();
          }
        }
      }
      return writer.finish();
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot write the table file of a snapshot to '" + directory + "': " + e.getMessage(), e);
    }
  }

  void checkOpen() {
    if (closed) {
      throw closedFailure();
    }
  }

  private static StateBackendException closedFailure() {
    return StateBackendException.closed(
        "the keyed backend of this heap table is closed and cannot be used any more");
  }

  @Override
  public void close() {
    HeapSnapshot running;
    synchronized (snapshotLock) {
      closed = true;
      running = snapshot;
      snapshot = null;
    }
    if (running != null) {
      running.fail(closedFailure());
    }
    Arrays.fill(groups, null);
  }
}
