package io.alluvium.testkit.model;

import io.alluvium.KeyGroupRange;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.state.Timer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The reference model of a whole job: its keyed state and its checkpoints in plain collections. Any
 * backend must show the same state after the same history. Confined to one thread.
 *
 * @param <K> type of the keys
 */
public final class ModelJob<K> {

  /** The address of one value of one state. */
  record Slot(Object key, Object namespace) {}

  /** The whole state at one moment; values are immutable. */
  private record Snapshot(
      Map<String, Map<Slot, Object>> states, Map<String, Set<Timer<?, ?>>> timers) {
    private static final Snapshot EMPTY = new Snapshot(Map.of(), Map.of());
  }

  private final Serializer<K> keySerializer;
  private final int maxParallelism;
  private final Map<String, Map<Slot, Object>> states = new HashMap<>();
  private final Map<String, Set<Timer<?, ?>>> timers = new HashMap<>();
  private final TreeMap<Long, Snapshot> checkpoints = new TreeMap<>();
  private final TreeMap<Long, Snapshot> older = new TreeMap<>();
  private final Set<Long> everConfirmed = new HashSet<>(Set.of(0L));
  private long confirmed;

  public ModelJob(Serializer<K> keySerializer, int maxParallelism) {
    this.keySerializer = keySerializer;
    this.maxParallelism = maxParallelism;
    checkpoints.put(0L, Snapshot.EMPTY);
  }

  /** The model of one subtask. */
  public ModelBackend<K> subtask(KeyGroupRange keyGroups) {
    return new ModelBackend<>(this, keySerializer, maxParallelism, keyGroups);
  }

  /** Records the current state as a checkpoint. */
  public void checkpoint(long id) {
    checkpoints.put(id, new Snapshot(copy(states), copyTimers(timers)));
  }

  /** Later restores must return this checkpoint or a later one, unless they fall back. */
  public void confirm(long id) {
    confirmed = id;
    older.putAll(checkpoints.headMap(id));
    checkpoints.headMap(id).clear();
    older.keySet().removeIf(each -> !everConfirmed.contains(each));
    everConfirmed.add(id);
  }

  /** Later restores must not return this checkpoint. */
  public void abort(long id) {
    if (id != confirmed) {
      checkpoints.remove(id);
    }
  }

  /** The newest confirmed checkpoint; 0 for the empty initial state. */
  public long confirmed() {
    return confirmed;
  }

  /**
   * Restores a checkpoint.
   *
   * @throws AssertionError if there is no such checkpoint, or a later one was confirmed
   */
  public void restore(long id) {
    restore(id, checkpoints);
  }

  /** Restores the newest confirmed checkpoint or an earlier one, because newer ones are damaged. */
  public void fallBack(long id) {
    TreeMap<Long, Snapshot> all = new TreeMap<>(older);
    all.putAll(checkpoints);
    restore(id, all);
  }

  private void restore(long id, Map<Long, Snapshot> from) {
    Snapshot snapshot = from.get(id);
    if (snapshot == null) {
      throw new AssertionError(
          "checkpoint " + id + " was restored; it must be one of " + from.keySet());
    }
    checkpoints.put(id, snapshot);
    states.clear();
    states.putAll(copy(snapshot.states));
    timers.clear();
    timers.putAll(copyTimers(snapshot.timers));
    confirm(id);
    checkpoints.tailMap(id, false).clear();
  }

  private static Map<String, Map<Slot, Object>> copy(Map<String, Map<Slot, Object>> states) {
    Map<String, Map<Slot, Object>> copy = new HashMap<>();
    states.forEach((name, slots) -> copy.put(name, new LinkedHashMap<>(slots)));
    return copy;
  }

  private static Map<String, Set<Timer<?, ?>>> copyTimers(Map<String, Set<Timer<?, ?>>> timers) {
    Map<String, Set<Timer<?, ?>>> copy = new HashMap<>();
    timers.forEach((name, set) -> copy.put(name, new HashSet<>(set)));
    return copy;
  }

  Map<Slot, Object> slots(String state) {
    return states.computeIfAbsent(state, name -> new LinkedHashMap<>());
  }

  Set<Timer<?, ?>> timers(String queue) {
    return timers.computeIfAbsent(queue, name -> new HashSet<>());
  }

  /** The serialized form, which defines the order of user keys. */
  static <T> byte[] bytes(Serializer<T> serializer, T value) {
    ByteWriter out = new ByteWriter();
    serializer.write(value, out);
    return out.toByteArray();
  }
}
