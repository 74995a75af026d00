package io.alluvium.flink;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filemerging.DirectoryStreamStateHandle;

/**
 * What Flink's JobManager does with the handles of checkpoints: with its own registry of shared
 * files, which really deletes them. Confined to one thread.
 */
final class JobManagerModel {

  private record Completed(long id, List<KeyedStateHandle> handles) {}

  private final SharedStateRegistryImpl registry = new SharedStateRegistryImpl();
  private final Deque<Completed> completed = new ArrayDeque<>();
  private final TreeMap<Long, List<KeyedStateHandle>> pending = new TreeMap<>();
  private final TreeMap<Long, List<DirectoryStreamStateHandle>> directories = new TreeMap<>();

  void acknowledged(long id, List<KeyedStateHandle> handles) {
    pending.put(id, handles);
  }

  /** The checkpoint has files in these directories, besides its own. */
  void mergedInto(long id, List<DirectoryStreamStateHandle> merged) {
    directories.put(id, merged);
  }

  SortedMap<Long, List<KeyedStateHandle>> pending() {
    return pending;
  }

  /** The checkpoint is complete: older ones under way are given up, older completed ones go. */
  void complete(long id) throws Exception {
    List<KeyedStateHandle> handles = pending.remove(id);
    if (handles == null) {
      throw new AssertionError("checkpoint " + id + " is not pending");
    }
    for (KeyedStateHandle handle : handles) {
      handle.registerSharedStates(registry, id);
    }
    for (DirectoryStreamStateHandle directory : directories.getOrDefault(id, List.of())) {
      StreamStateHandle unused =
          registry.registerReference(directory.createStateRegistryKey(), directory, id);
    }
    completed.addLast(new Completed(id, handles));
    for (long older : new ArrayList<>(pending.headMap(id).keySet())) {
      abort(older);
    }
    while (completed.size() > 1) {
      for (KeyedStateHandle handle : completed.removeFirst().handles()) {
        handle.discardState();
      }
    }
    registry.unregisterUnusedState(id);
  }

  void abort(long id) throws Exception {
    List<KeyedStateHandle> handles = pending.remove(id);
    if (handles != null) {
      for (KeyedStateHandle handle : handles) {
        handle.discardState();
      }
    }
  }

  /** Everything under way is given up, as when the job fails. */
  void fail() throws Exception {
    for (long id : new ArrayList<>(pending.keySet())) {
      abort(id);
    }
  }

  List<KeyedStateHandle> latest() throws IOException {
    Completed last = completed.peekLast();
    return last == null ? List.of() : last.handles();
  }

  long latestId() {
    Completed last = completed.peekLast();
    return last == null ? 0 : last.id();
  }
}
