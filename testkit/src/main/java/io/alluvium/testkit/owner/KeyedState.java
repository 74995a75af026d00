package io.alluvium.testkit.owner;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.spi.Execution;
import io.alluvium.state.ListState;
import io.alluvium.state.StateDescriptor;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A whole backend with two subtasks. Each piece of the input is appended to a list of its key.
 * Confined to the owner's thread.
 */
public final class KeyedState implements OwnedState {

  private static final int GROUPS = 4;
  private static final int SUBTASKS = 2;
  private static final int KEYS = 3;

  private final StateBackend process;
  private final Execution execution;
  private final List<KeyedBackend<Integer>> subtasks = new ArrayList<>();

  public KeyedState(StateBackend process, Execution execution) {
    this.process = process;
    this.execution = execution;
  }

  @Override
  public CheckpointCatalog catalog() {
    return process.catalog();
  }

  @Override
  public void restore(Optional<Checkpoint> checkpoint) {
    for (int i = 0; i < SUBTASKS; i++) {
      subtasks.add(
          process.keyed(
              Serializers.int32(),
              GROUPS,
              KeyGroupRange.ofSubtask(GROUPS, SUBTASKS, i),
              checkpoint.map(Checkpoint::handles).orElse(List.of()),
              process.catalog().restoreMode()));
    }
  }

  private ListState<Long> listOf(int key) {
    int group = subtasks.get(0).keyGroupOf(key);
    KeyedBackend<Integer> subtask = subtasks.get(KeyGroupRange.subtaskOf(group, GROUPS, SUBTASKS));
    subtask.setCurrentKey(key);
    return subtask.state(StateDescriptor.list("pieces", Serializers.int64()));
  }

  @Override
  public void apply(long offset) {
    listOf((int) (offset % KEYS)).add(offset);
  }

  @Override
  public long applied() {
    long count = 0;
    for (int key = 0; key < KEYS; key++) {
      List<Long> pieces = listOf(key).get();
      for (int i = 0; i < pieces.size(); i++) {
        long expected = key == 0 ? (i + 1L) * KEYS : i * (long) KEYS + key;
        if (pieces.get(i) != expected) {
          throw new AssertionError("the list of key " + key + " is " + pieces);
        }
      }
      count += pieces.size();
    }
    return count;
  }

  @Override
  public List<CheckpointHandle> checkpoint(long id) {
    List<CompletableFuture<CheckpointHandle>> futures =
        subtasks.stream().map(subtask -> subtask.checkpoint(id)).toList();
    return futures.stream().map(execution::await).toList();
  }

  @Override
  public void confirm(long id) {
    subtasks.forEach(subtask -> subtask.confirm(id));
  }

  @Override
  public void abort(long id) {
    subtasks.forEach(subtask -> subtask.abort(id));
  }

  @Override
  public void close() {
    subtasks.forEach(KeyedBackend::close);
  }
}
