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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a job asks of its blob store, call by call: requests are what object storage charges for.
 */
final class RequestsTest {

  private static final int GROUPS = 32;
  private static final int SUBTASKS = 16;
  private static final int KEYS = 300;

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  private final Simulation simulation = new Simulation(new InOrder());
  private final SimulatedProcess process = simulation.process("P");
  private final FaultyBlobStore store =
      new FaultyBlobStore(process.store(new MapBlobStore(), Network.RELIABLE));
  private final Sums counters = new Sums();
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
                Optional.of(store), Optional.of(process.execution()), new Random(1), counters));

    assertThat(callsOf(() -> start(backend)))
        .as("the last one shows that the store refuses what is taken")
        .containsExactly(
            "list slots/",
            "putifabsent slots/0000000000000001",
            "list slots/",
            "putifabsent slots/0000000000000001");
    // One PUT of log for all 16 subtasks, one of manifest; the first collection looks at
    // everything.
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
    assertThat(counters.sums)
        .containsEntry("store.log.put.count", 2L)
        .containsEntry("store.manifest.put.count", 4L)
        .containsEntry("store.manifest.list.count", 3L)
        .containsEntry("store.gc.list.count", 1L)
        .containsEntry("store.gc.delete.count", 1L)
        .doesNotContainKeys("store.restore.get.count", "store.materialization.put.count")
        .hasEntrySatisfying("store.log.put.bytes", bytes -> assertThat(bytes).isPositive());
    assertThat(callsOf(() -> checkpoint(backend, 3, Work.NONE))).isEmpty();
    // Each subtask materializes once, then finds nothing new for the rest of the day.
    List<String> hours = callsOf(() -> idle(Duration.ofHours(24)));
    assertThat(hours).hasSize(SUBTASKS).allMatch(call -> call.matches("put data/.*\\.table"));
    assertThat(counters.sums).containsEntry("store.materialization.put.count", (long) SUBTASKS);
  }

  /** Sums of counters that were counted. Used by whoever has the turn. */
  private static final class Sums implements Metrics {
    private final Map<String, Long> sums = new HashMap<>();

    @Override
    public Counter counter(String name) {
      return delta -> sums.merge(name, delta, Long::sum);
    }

    @Override
    public Histogram histogram(String name) {
      return value -> {};
    }

    @Override
    public void gauge(String name, LongSupplier value) {}
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
    for (int key = 0; work == Work.SOME && key < KEYS; key++) {
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
    handOver();
  }

  /** Each step has a thread of its own. */
  private void handOver() {
    subtasks.forEach(KeyedBackend::handOver);
  }

  private void idle(Duration duration) {
    for (int i = 0; i < 100; i++) {
      process.execution().sleep(duration.dividedBy(100));
      subtasks.forEach(KeyedBackend::idle);
    }
    handOver();
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
