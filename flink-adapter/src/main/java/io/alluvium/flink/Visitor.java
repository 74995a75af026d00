package io.alluvium.flink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.runtime.state.StateEntry;
import org.apache.flink.runtime.state.internal.InternalKvState;
import org.jspecify.annotations.Nullable;

/**
 * Visits all entries of a state a few at a time; Flink's incremental cleanup of expired values
 * drives it. Confined to the task thread.
 */
final class Visitor<K, N, V> implements InternalKvState.StateIncrementalVisitor<K, N, V> {

  private final KvState<K, N, V> state;
  private final int most;
  private final RowWalk rows;
  private RowWalk.@Nullable Row ahead;

  Visitor(KvState<K, N, V> state, int most) {
    this.state = state;
    this.most = Math.max(1, most);
    this.rows = new RowWalk(state.access.bytes, state.id);
  }

  @Override
  public boolean hasNext() {
    if (ahead == null) {
      ahead = rows.next();
    }
    return ahead != null;
  }

  @Override
  public Collection<StateEntry<K, N, V>> nextEntries() {
    List<StateEntry<K, N, V>> entries = new ArrayList<>(most);
    while (entries.size() < most && hasNext()) {
      RowWalk.Row row = ahead;
      ahead = null;
      if (row != null) {
        StateEntry<K, N, V> entry = read(row);
        if (entry != null) {
          entries.add(entry);
        }
      }
    }
    return entries;
  }

  private @Nullable StateEntry<K, N, V> read(RowWalk.Row row) {
    try {
      V value = state.valueAt(row.row());
      return value == null ? null : new Entry(row, value);
    } catch (IOException e) {
      throw Failures.deserializing("an entry of state '" + state.name + "'", e);
    }
  }

  @Override
  public void remove(StateEntry<K, N, V> entry) {
    state.clearAt(rowOf(entry));
  }

  @Override
  public void update(StateEntry<K, N, V> entry, V newValue) {
    try {
      state.replaceAt(rowOf(entry), entry.getState(), newValue);
    } catch (IOException e) {
      throw Failures.serializing("a value of state '" + state.name + "'", e);
    }
  }

  private byte[] rowOf(StateEntry<K, N, V> entry) {
    if (entry instanceof Visitor<?, ?, ?>.Entry own) {
      return own.row.row();
    }
    throw new IllegalArgumentException("entry " + entry + " is not one of this visitor's");
  }

  /** An entry that knows its row; key and namespace are deserialized when asked for. */
  private final class Entry implements StateEntry<K, N, V> {

    private final RowWalk.Row row;
    private final V value;

    Entry(RowWalk.Row row, V value) {
      this.row = row;
      this.value = value;
    }

    @Override
    public K getKey() {
      return Rows.read(
          state.getKeySerializer(), row.row(), row.keyOffset(), row.keyLength(), state.name);
    }

    @Override
    public N getNamespace() {
      return Rows.read(
          state.getNamespaceSerializer(),
          row.row(),
          row.namespaceOffset(),
          row.namespaceLength(),
          state.name);
    }

    @Override
    public V getState() {
      return value;
    }
  }
}
