package io.alluvium.internal.catalog;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.StateBackendException;
import io.alluvium.StateRegistration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the handles of one checkpoint must agree on before it is stored. Thread-safe. */
final class HandleChecks {

  private static final Logger LOG = LoggerFactory.getLogger(HandleChecks.class);

  /** States that were warned about, so that each is warned about once. */
  private final Set<String> warned = ConcurrentHashMap.newKeySet();

  void check(long checkpointId, List<CheckpointHandle> handles) {
    checkCoverage(checkpointId, handles);
    warnAboutFormats(checkpointId, handles);
  }

  /** Without a handle nothing is covered: fine for a job without state, the end of any other's. */
  static void checkNotEmptied(Checkpoint latest, List<CheckpointHandle> handles) {
    if (handles.isEmpty() && !latest.handles().isEmpty()) {
      throw StateBackendException.invalid(
          "a checkpoint without handles would lose the state of checkpoint "
              + latest.id()
              + ", which has "
              + latest.handles().size()
              + "; commit the handle of every subtask, or begin without state with startOver");
    }
  }

  /** Together the handles must cover every key group once, or state would be lost at a restore. */
  private static void checkCoverage(long checkpointId, List<CheckpointHandle> handles) {
    List<CheckpointHandle> sorted = new ArrayList<>(handles);
    sorted.sort(Comparator.comparingInt(handle -> handle.keyGroups().from()));
    int covered = 0;
    for (CheckpointHandle handle : sorted) {
      if (handle.checkpointId() != checkpointId) {
        throw StateBackendException.invalid(
            "a handle of checkpoint "
                + handle.checkpointId()
                + " cannot be committed as checkpoint "
                + checkpointId);
      }
      if (handle.keyGroups().isEmpty()) {
        continue;
      }
      if (handle.keyGroups().from() != covered
          || handle.maxParallelism() != sorted.get(0).maxParallelism()) {
        throw coverage(checkpointId, handles);
      }
      covered = handle.keyGroups().to();
    }
    if (!sorted.isEmpty() && covered != sorted.get(0).maxParallelism()) {
      throw coverage(checkpointId, handles);
    }
  }

  private static StateBackendException coverage(long checkpointId, List<CheckpointHandle> handles) {
    return StateBackendException.invalid(
        "the handles of checkpoint "
            + checkpointId
            + " must cover every key group of the job exactly once, they cover "
            + handles.stream()
                .map(handle -> handle.keyGroups() + " of " + handle.maxParallelism())
                .collect(Collectors.joining(", ")));
  }

  /**
   * Two formats of one state restore with the parallelism they have, but not with another. That is
   * no error: a subtask may not have asked for a state yet that others have migrated.
   */
  private void warnAboutFormats(long checkpointId, List<CheckpointHandle> handles) {
    mixedFormats(handles)
        .forEach(
            (state, formats) -> {
              if (warned.add(state)) {
                LOG.warn(
                    "checkpoint {} holds state '{}' in two formats, {}; it cannot be restored with"
                        + " another parallelism until every subtask registers the state alike",
                    checkpointId,
                    state,
                    formats);
              }
            });
  }

  /** Two formats of each state that has more than one, by its name. */
  static Map<String, String> mixedFormats(List<CheckpointHandle> handles) {
    Map<String, StateRegistration> first = new HashMap<>();
    Map<String, String> mixed = new TreeMap<>();
    for (CheckpointHandle handle : handles) {
      for (StateRegistration state : handle.states()) {
        StateRegistration other = first.putIfAbsent(state.name(), state);
        if (other != null && !other.equals(state)) {
          mixed.putIfAbsent(state.name(), describe(other) + " and " + describe(state));
        }
      }
    }
    return mixed;
  }

  private static String describe(StateRegistration state) {
    return state.kind() + " of " + state.values() + " with namespaces of " + state.namespace();
  }
}
