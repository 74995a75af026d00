package io.alluvium.flink;

import io.alluvium.StateBackendException;
import io.alluvium.spi.KeyLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.RegisteredPriorityQueueStateBackendMetaInfo;
import org.apache.flink.runtime.state.RegisteredStateMetaInfoBase;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.jspecify.annotations.Nullable;

/**
 * The states of one keyed backend by name: those registered and those that a restore brought and
 * nobody asked for yet. Confined to the task thread.
 */
final class StateCatalog {

  /** A state and what is known about it. */
  static final class Entry {
    final String name;
    final int id;
    final byte[] idBytes;
    final boolean restored;
    RegisteredStateMetaInfoBase info;

    /** The state or the queue in the user's hands. */
    @Nullable Object view;

    Entry(String name, int id, RegisteredStateMetaInfoBase info, boolean restored) {
      this.name = name;
      this.id = id;
      this.idBytes = Rows.idBytes(id);
      this.info = info;
      this.restored = restored;
    }

    boolean isQueue() {
      return info instanceof RegisteredPriorityQueueStateBackendMetaInfo<?>;
    }

    boolean isMap() {
      return info instanceof RegisteredKeyValueStateBackendMetaInfo<?, ?> kv
          && kv.getStateType() == StateDescriptor.Type.MAP;
    }

    boolean isList() {
      return info instanceof RegisteredKeyValueStateBackendMetaInfo<?, ?> kv
          && kv.getStateType() == StateDescriptor.Type.LIST;
    }
  }

  private final Map<String, Entry> byName = new LinkedHashMap<>();
  private final Map<Integer, String> namesById = new HashMap<>();

  /** Whether a state was restored or is new; only told apart for timers. */
  enum Origin {
    NEW,
    RESTORED
  }

  Entry add(RegisteredStateMetaInfoBase info, Origin origin) {
    String name = info.getName();
    int id = KeyLayout.stateId(name);
    String other = namesById.putIfAbsent(id, name);
    if (other != null && !other.equals(name)) {
      throw StateBackendException.invalid(
          "state names '" + other + "' and '" + name + "' share the id " + id + "; rename one");
    }
    Entry entry = new Entry(name, id, info, origin == Origin.RESTORED);
    byName.put(name, entry);
    return entry;
  }

  /** A state that a checkpoint or savepoint holds; the first of several parents is taken. */
  Entry restored(StateMetaInfoSnapshot snapshot) {
    Entry known = byName.get(snapshot.getName());
    return known != null
        ? known
        : add(
            RegisteredKeyValueStateBackendMetaInfo.fromMetaInfoSnapshot(snapshot), Origin.RESTORED);
  }

  @Nullable Entry get(String name) {
    return byName.get(name);
  }

  boolean isEmpty() {
    return byName.isEmpty();
  }

  /** All states, in the order in which they stand in a key group. */
  List<Entry> inTableOrder() {
    List<Entry> entries = new ArrayList<>(byName.values());
    entries.sort((a, b) -> Arrays.compareUnsigned(a.idBytes, b.idBytes));
    return entries;
  }

  static List<StateMetaInfoSnapshot> snapshots(List<Entry> entries) {
    List<StateMetaInfoSnapshot> snapshots = new ArrayList<>(entries.size());
    for (Entry entry : entries) {
      snapshots.add(entry.info.snapshot());
    }
    return snapshots;
  }

  /** The states and queues in the user's hands are let go. */
  void clear() {
    byName.clear();
    namesById.clear();
  }
}
