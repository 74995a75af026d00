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
   * lookup; a scan of one row costs that row, a scan of more collects and sorts each cell when it gets there. Whoever
   * reads over a longer time, a scan or a snapshot, pins the cells that it reads (see Versions); writes meanwhile copy what
   * they change.
   */
  private final KeyGroupRange keyGroups;
  private final Execution execution;

  /** All null once closed, so that who comes too late finds nothing instead of an empty table. */
  private final @Nullable KeyGroupCells[] groups;

  private final Cell.Place place = new Cell.Place();
  private final Object snapshotLock = new Object();
  private volatile @Nullable HeapSnapshot snapshot;
  private volatile boolean closed;

  HeapTable(KeyGroupRange keyGroups, Execution execution) {
    this.keyGroups = keyGroups;
    this.execution = execution;
    this.groups = new @Nullable KeyGroupCells[keyGroups.size()];
    for (int i = 0; i < groups.length; i++) {
      groups[i] = new KeyGroupCells(keyGroups.from() + i);
    }
  }

  @Override
  public boolean get(byte[] key, int keyLength, ByteWriter into) {
    KeyGroupCells group = group(key, 0);
    int rowLength = KeyLayout.rowLength(key, 0, keyLength);
    if (rowLength > keyLength) {
      return false;
    }
    Cell cell = group.find(locate(place, key, 0, keyLength, rowLength));
    return cell != null && cell.get(place, into);
  }

  @Override
  public void put(byte[] key, int keyLength, byte[] value, int valueLength) {
    int stateId = locate(place, key, 0, keyLength);
    group(key, 0).findOrAdd(stateId).put(place, value, 0, valueLength);
  }

  @Override
  public void delete(byte[] key, int keyLength) {
    Cell cell = group(key, 0).find(locate(place, key, 0, keyLength));
    if (cell != null) {
      cell.delete(place);
    }
  }

  @Override
  public void merge(byte[] key, int keyLength, byte[] operand, int operandLength) {
    int stateId = locate(place, key, 0, keyLength);
    group(key, 0).findOrAdd(stateId).merge(place, operand, 0, operandLength);
  }

  private KeyGroupCells group(byte[] key, int offset) {
    int keyGroup = KeyLayout.keyGroup(key, offset);
    if (!keyGroups.contains(keyGroup)) {
      throw StateBackendException.internal(
          "a key of key group " + keyGroup + " came to a table of key groups " + keyGroups);
    }
    return cells(keyGroup);
  }

  /** Throws {@code CLOSED} once closed. */
  private KeyGroupCells cells(int keyGroup) {
    KeyGroupCells group = groups[keyGroup - keyGroups.from()];
    if (group == null) {
      throw closedFailure();
    }
    return group;
  }

  /** Takes a whole key apart and gives its state id. */
  private static int locate(Cell.Place at, byte[] key, int offset, int length) {
    int rowLength = KeyLayout.rowLength(key, offset, length);
    if (rowLength > length) {
      throw StateBackendException.internal(
          "a key of " + length + " bytes ends before its namespace does");
    }
    return locate(at, key, offset, length, rowLength);
  }

  private static int locate(Cell.Place at, byte[] key, int offset, int length, int rowLength) {
    at.array = key;
    at.rowTo = offset + rowLength;
    at.keyTo = offset + length;
    return locateState(at, offset);
  }

  /** Reads the state id behind the key group, and notes where the row's own part starts. */
  private static int locateState(Cell.Place at, int offset) {
    int from = offset + KeyLayout.KEY_GROUP_BYTES;
    int stateId = 0;
    for (int shift = 0; ; shift += 7) {
      byte b = at.array[from++];
      stateId |= (b & 0x7f) << shift;
      if (b >= 0) {
        at.rowFrom = from;
        return stateId;
      }
    }
  }

  @Override
  public void deleteRange(byte[] prefix, int prefixLength) {
    checkOpen();
    deleteRange(new Cell.Place(), prefix, prefixLength);
  }

  private void deleteRange(Cell.Place at, byte[] prefix, int prefixLength) {
    forEachCell(
        at,
        prefix,
        prefixLength,
        (cell, part) -> {
          switch (part) {
            case CELL -> cell.clear();
            case ROWS -> cell.deleteRows(prefix, at.rowFrom, prefixLength);
            case ROW -> cell.deleteRow(at);
          }
        });
  }

  @Override
  public TableScan scan(byte[] prefix, int prefixLength) {
    checkOpen();
    HeapScan scan = new HeapScan(this);
    Cell.Place at = new Cell.Place();
    forEachCell(
        at,
        prefix,
        prefixLength,
        (cell, part) -> {
          switch (part) {
            case CELL -> scan.addRows(cell, new byte[0]);
            case ROWS -> scan.addRows(cell, Arrays.copyOfRange(prefix, at.rowFrom, prefixLength));
            case ROW -> scan.addRow(cell, at);
          }
        });
    return scan;
  }

  /** How much of a cell a prefix names. */
  private enum Part {
    CELL,
    ROWS,
    ROW
  }

  private interface CellAction {
    void on(Cell cell, Part part);
  }

  /** Visits the cells that a prefix touches, ascending. */
  private void forEachCell(Cell.Place at, byte[] prefix, int prefixLength, CellAction action) {
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
      KeyGroupCells group = cells(keyGroup);
      if (namesState) {
        at.array = prefix;
        Cell cell = group.find(locateState(at, 0));
        if (cell != null) {
          action.on(cell, partOf(at, prefix, prefixLength));
        }
      } else {
        for (Cell cell : group.inOrder()) {
          if (startsWith(cell.prefix, prefix, prefixLength)) {
            action.on(cell, Part.CELL);
          }
        }
      }
    }
  }

  private static Part partOf(Cell.Place at, byte[] prefix, int prefixLength) {
    if (at.rowFrom == prefixLength) {
      return Part.CELL;
    }
    int rowLength = KeyLayout.rowLength(prefix, 0, prefixLength);
    at.rowTo = rowLength;
    at.keyTo = prefixLength;
    return rowLength > prefixLength ? Part.ROWS : Part.ROW;
  }

  private static boolean startsWith(byte[] bytes, byte[] prefix, int prefixLength) {
    return prefixLength <= bytes.length
        && Arrays.equals(bytes, 0, prefixLength, prefix, 0, prefixLength);
  }

  @Override
  public void apply(SortedChanges changes) {
    checkOpen();
    Cell.Place at = new Cell.Place();
    for (byte[] prefix : changes.rangeDeletes()) {
      deleteRange(at, prefix, prefix.length);
    }
    while (changes.next()) {
      byte[] key = changes.keyArray();
      KeyGroupCells group = group(key, changes.keyOffset());
      Cell cell = group.findOrAdd(locate(at, key, changes.keyOffset(), changes.keyLength()));
      byte[] value = changes.valueArray();
      switch (changes.operation()) {
        case PUT -> cell.put(at, value, changes.valueOffset(), changes.valueLength());
        case MERGE -> cell.merge(at, value, changes.valueOffset(), changes.valueLength());
        case DELETE -> cell.delete(at);
        case DELETE_RANGE ->
            throw StateBackendException.internal("a range deletion stands among sorted changes");
      }
    }
  }

  /** Takes over all entries of a scan that lie in {@code wanted}, at a restore. */
  void load(TableScan scan, KeyGroupRange wanted) {
    while (scan.next()) {
      byte[] key = scan.key();
      if (wanted.contains(KeyLayout.keyGroup(key, 0))) {
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
            StateBackendException.internal("a snapshot of this table is being taken already"));
      }
      HeapSnapshot started =
          new HeapSnapshot(directory, execution, keyGroups.from(), keyGroups.to(), this::cells);
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
    try (CellFileWriter writer = new CellFileWriter(directory)) {
      for (int keyGroup = keyGroups.from(); keyGroup < keyGroups.to(); keyGroup++) {
        for (Cell cell : cells(keyGroup).inOrder()) {
          @Nullable Object[] contents = cell.pinAll();
          try {
            writer.write(cell, contents);
          } finally {
            cell.unpin();
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
    return StateBackendException.closed("this heap table is closed and cannot be used any more");
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
