package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.spi.Metrics;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import io.alluvium.testkit.MemoryDirectories;
import io.alluvium.testkit.blob.FaultyBlobStore;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.sim.InOrder;
import io.alluvium.testkit.sim.SimulatedBlobStore.Network;
import io.alluvium.testkit.sim.SimulatedProcess;
import io.alluvium.testkit.sim.Simulation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a job asks of its blob store, call by call: requests are what object storage charges for.
 */
final class RequestsTest {

  private static final int GROUPS = 4;
  private static final int SUBTASKS = 2;

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  private final Simulation simulation = new Simulation(new InOrder());
  private final SimulatedProcess process = simulation.process("P");
  private final FaultyBlobStore store =
      new FaultyBlobStore(process.store(new MapBlobStore(), Network.RELIABLE));
  private final List<KeyedBackend<Integer>> subtasks = new ArrayList<>();

  @Test
  void job_askForNoMoreThanItNeeds() {
    StateBackend backend =
        StateBackend.open(
            Map.of(
                "state.checkpoints.dir", "memory:",
                "state.backend.type", "heap",
                "state.backend.rocksdb.localdir", directory.toString()),
            new Components(
                Optional.of(store), Optional.of(process.execution()), new Random(1), Metrics.NONE));

    assertThat(callsOf(() -> start(backend)))
        .containsExactly("list slots/", "putifabsent slots/0000000000000001", "list slots/");
    // One PUT of log for all subtasks, one of manifest; the first collection looks at everything.
    assertThat(callsOf(() -> checkpoint(backend, 1, Work.SOME)))
        .containsExactly(
            "put data/*/0000000000000000.log",
            "putifabsent slots/0000000000000002",
            "list data/",
            "list slots/");
    assertThat(callsOf(() -> checkpoint(backend, 2, Work.SOME)))
        .containsExactly(
            "put data/*/0000000000000001.log",
            "putifabsent slots/0000000000000003",
            "delete slots/0000000000000002");
    assertThat(callsOf(() -> checkpoint(backend, 3, Work.NONE))).isEmpty();
    // Each subtask materializes once, then finds nothing new for the rest of the day.
    List<String> hours = callsOf(() -> idle(Duration.ofHours(24)));
    assertThat(hours).hasSize(SUBTASKS).allMatch(call -> call.matches("put data/.*\\.table"));
  }

  private enum Work {
    NONE,
    SOME
  }

  private void start(StateBackend backend) {
    Optional<Checkpoint> unused = backend.catalog().takeOver("job");
    for (int i = 0; i < SUBTASKS; i++) {
      subtasks.add(
          backend.keyed(Serializers.int32(), GROUPS, KeyGroupRange.ofSubtask(GROUPS, SUBTASKS, i)));
    }
  }

  private void checkpoint(StateBackend backend, long id, Work work) {
    for (int key = 0; work == Work.SOME && key < 10; key++) {
      int group = subtasks.get(0).keyGroupOf(key);
      KeyedBackend<Integer> subtask =
          subtasks.get(KeyGroupRange.subtaskOf(group, GROUPS, SUBTASKS));
      subtask.setCurrentKey(key);
      ValueState<Long> value = subtask.state(StateDescriptor.value("v", Serializers.int64()));
      value.update(id);
    }
    List<CompletableFuture<CheckpointHandle>> futures =
        subtasks.stream().map(subtask -> subtask.checkpoint(id)).toList();
    List<CheckpointHandle> handles = futures.stream().map(process.execution()::await).toList();
    backend.catalog().commit(id, handles, new byte[0]);
    subtasks.forEach(subtask -> subtask.confirm(id));
  }

  private void idle(Duration duration) {
    for (int i = 0; i < 100; i++) {
      process.execution().sleep(duration.dividedBy(100));
      subtasks.forEach(KeyedBackend::idle);
    }
  }

  /**
   * The calls that a step makes, also those in the background after it; incarnations as {@code *}.
   */
  private List<String> callsOf(Runnable step) {
    store.clearTrace();
    process.spawn("step", step);
    simulation.run();
    simulation.settle();
    return store.plan().calls().stream()
        .map(call -> call.op().word() + " " + call.name().replaceAll("[0-9a-f]{32}", "*"))
        .toList();
  }
}
