package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.CheckpointHandle;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.spi.Metrics;
import io.alluvium.state.StateDescriptor;
import io.alluvium.testkit.MemoryDirectories;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A whole backend whose materializations may store next to nothing in a second. */
final class PacedMaterializationTest {

  private static final int GROUPS = 4;
  private static final int VALUE_BYTES = 3 << 20;

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  private final Simulation simulation = new Simulation(new InOrder());
  private final SimulatedProcess process = simulation.process("P");
  private final MapBlobStore blobs = new MapBlobStore();

  @Test
  void pacedUpload_holdsUpNeitherCheckpointsNorTheEnd() {
    process.spawn("main", this::roundsOfOne);
    simulation.run();
  }

  private StateBackend open(String interval, String objective) {
    return open(interval, objective, blobs, 1);
  }

  private StateBackend open(String interval, String objective, MapBlobStore into, long seed) {
    Map<String, String> settings = new HashMap<>();
    settings.put("state.checkpoints.dir", "memory:");
    settings.put("state.backend.type", "heap");
    settings.put("state.backend.rocksdb.localdir", directory.toString());
    settings.put("state.backend.changelog.periodic-materialize.interval", interval);
    settings.put("alluvium.materialize.max-bandwidth", "1 kb");
    settings.put("alluvium.restore.time-objective", objective);
    settings.put("state.backend.changelog.enabled", objective.isEmpty() ? "false" : "true");
    settings.values().removeIf(String::isEmpty);
    StateBackend backend =
        StateBackend.open(
            settings,
            new Components(
                Optional.of(process.store(into, Network.RELIABLE)),
                Optional.of(process.execution()),
                new Random(seed),
                Metrics.NONE));
    backend.catalog().takeOver("job");
    return backend;
  }

  private static void update(KeyedBackend<Integer> keyed, int extraBytes) {
    int key = 0;
    while (!keyed.keyGroups().contains(keyed.keyGroupOf(key))) {
      key++;
    }
    keyed.setCurrentKey(key);
    keyed
        .state(StateDescriptor.value("v", Serializers.bytes()))
        .update(new byte[VALUE_BYTES + extraBytes]);
  }

  private void roundsOfOne() {
    StateBackend backend = open("10s", "0");
    KeyedBackend<Integer> keyed =
        backend.keyed(Serializers.int32(), GROUPS, new KeyGroupRange(0, GROUPS));
    for (int round = 1; round <= 3; round++) {
      update(keyed, round);
      double start = now();
      CheckpointHandle handle = process.execution().await(keyed.checkpoint(round));
      backend.catalog().commit(round, List.of(handle), new byte[0]);
      keyed.confirm(round);
      assertThat(now() - start).as("checkpoint %s", round).isLessThan(1);
      for (int i = 0; i < 20; i++) {
        keyed.idle();
        process.execution().sleep(Duration.ofSeconds(1));
      }
    }
    // The first went at once; the second waits for about an hour.
    assertThat(tables()).isEqualTo(1);
    double start = now();
    backend.close();
    assertThat(now() - start).isLessThan(1);
  }

  /** There is one thread for materializations. */
  @Test
  void close_whileAnUploadIsQueuedBehindAnothersPacedOne_doesNotWaitForIt() {
    process.spawn("main", this::closeTheQueued);
    simulation.run();
  }

  private void closeTheQueued() {
    // Each checkpoint asks for a materialization.
    StateBackend backend = open("10h", "1us");
    List<KeyedBackend<Integer>> all = new ArrayList<>();
    for (int group = 0; group < 3; group++) {
      all.add(backend.keyed(Serializers.int32(), GROUPS, new KeyGroupRange(group, group + 1)));
    }
    materialize(all.subList(0, 1));
    assertThat(tables()).as("the first goes at once").isEqualTo(1);
    materialize(all.subList(1, 3));
    assertThat(tables()).as("one is paced, the other waits for its turn").isEqualTo(1);
    double start = now();
    all.get(2).close();
    assertThat(now() - start).isLessThan(1);
    all.get(1).close();
    process.execution().sleep(Duration.ofDays(1));
    assertThat(tables()).as("nothing appears after the end").isEqualTo(1);
    backend.close();
  }

  /** As in a TaskManager, where each task has a backend of its own on the threads of all. */
  @Test
  void uploadThatSomebodyWaitsFor_isNotHeldUpByThePacedOneOfAnotherBackend() {
    process.spawn("main", this::urgentBehindPaced);
    simulation.run();
  }

  private void urgentBehindPaced() {
    StateBackend paced = open("10h", "1us");
    List<KeyedBackend<Integer>> all = new ArrayList<>();
    for (int group = 0; group < 2; group++) {
      all.add(paced.keyed(Serializers.int32(), GROUPS, new KeyGroupRange(group, group + 1)));
    }
    materialize(all.subList(0, 1));
    materialize(all.subList(1, 2));
    assertThat(tables()).as("one is paced").isEqualTo(1);
    StateBackend other = open("10h", "", new MapBlobStore(), 2);
    KeyedBackend<Integer> withoutLog =
        other.keyed(Serializers.int32(), GROUPS, new KeyGroupRange(0, GROUPS));
    update(withoutLog, 0);
    double start = now();
    CheckpointHandle unused = process.execution().await(withoutLog.checkpoint(1));
    assertThat(now() - start).isLessThan(1);
    other.close();
    paced.close();
  }

  private void materialize(List<KeyedBackend<Integer>> some) {
    List<CompletableFuture<CheckpointHandle>> handles = new ArrayList<>();
    for (KeyedBackend<Integer> keyed : some) {
      update(keyed, 0);
      handles.add(keyed.checkpoint(1));
    }
    handles.forEach(process.execution()::await);
    // The task's part of a snapshot on the heap.
    some.forEach(KeyedBackend::idle);
    process.execution().sleep(Duration.ofSeconds(1));
  }

  private long tables() {
    return blobs.content().keySet().stream().filter(name -> name.endsWith(".table")).count();
  }

  private double now() {
    return process.execution().nanoTime() / 1e9;
  }
}
