package io.alluvium.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobStore;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.sim.SimulatedBlobStore.Network;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class SimulationTest {

  private static final Network LOSSY = new Network(0.1, 0.2, 0.2);

  private final MapBlobStore blobs = new MapBlobStore();

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void run_sameSeed_givesSameTrace(long seed) {
    assertThat(traceOf(seed)).isEqualTo(traceOf(seed)).hasSizeGreaterThan(100);
  }

  @Test
  void run_otherSeed_givesOtherTrace() {
    Set<List<String>> traces = new HashSet<>();
    for (long seed = 0; seed < 20; seed++) {
      traces.add(traceOf(seed));
    }
    assertThat(traces).hasSize(20);
  }

  /** Three processes with pools and timers, a lossy network, and a kill. */
  private static List<String> traceOf(long seed) {
    MapBlobStore blobs = new MapBlobStore();
    try (Simulation simulation = Simulation.ofSeed(seed)) {
      for (String name : List.of("A", "B", "C")) {
        SimulatedProcess process = simulation.process(name);
        BlobStore store = process.store(blobs, LOSSY);
        process.spawn("main", () -> busy(process, store));
      }
      SimulatedProcess killer = simulation.process("killer");
      killer.spawn(
          "main",
          () -> {
            killer.execution().sleep(Duration.ofMillis(15));
            simulation.processes().get(2).kill();
          });
      assertThat(simulation.run()).isEqualTo(Simulation.End.DONE);
      List<String> lines = new ArrayList<>(simulation.trace());
      lines.addAll(blobs.content().keySet());
      return lines;
    }
  }

  private static void busy(SimulatedProcess process, BlobStore store) {
    SimulatedExecution execution = process.execution();
    for (int i = 0; i < 10; i++) {
      String name = process.name() + i;
      CompletableFuture<Boolean> done = new CompletableFuture<>();
      execution
          .uploads()
          .execute(
              () -> {
                try {
                  store.put(name, List.of(ByteBuffer.allocate(1)));
                } catch (StateBackendException e) {
                  done.complete(false);
                }
                done.complete(true);
              });
      execution.sleep(Duration.ofMillis(3));
      if (execution.await(done)) {
        assertThat(store.toString()).isNotEmpty();
      }
    }
  }

  @Test
  void sleep_virtualTime_passesWithoutRealTime() {
    try (Simulation simulation = Simulation.ofSeed(1)) {
      SimulatedProcess process = simulation.process("A");
      List<Long> hours = new ArrayList<>();
      process.spawn(
          "main",
          () -> {
            long start = process.execution().nanoTime();
            process.execution().sleep(Duration.ofHours(5));
            hours.add(Duration.ofNanos(process.execution().nanoTime() - start).toHours());
          });
      simulation.run();
      assertThat(hours).containsExactly(5L);
    }
  }

  @Test
  void schedule_cancelled_doesNotRun() {
    try (Simulation simulation = Simulation.ofSeed(1)) {
      SimulatedProcess process = simulation.process("A");
      List<String> ran = new ArrayList<>();
      process.spawn(
          "main",
          () -> {
            process.execution().schedule(Duration.ofMillis(2), () -> ran.add("late"));
            process.execution().schedule(Duration.ofMillis(1), () -> ran.add("early"));
            process.execution().schedule(Duration.ZERO, () -> ran.add("never")).cancel();
            process.execution().sleep(Duration.ofMillis(3));
          });
      simulation.run();
      assertThat(ran).containsExactly("early", "late");
    }
  }

  @Test
  void await_failedFuture_throwsItsCause() {
    try (Simulation simulation = Simulation.ofSeed(1)) {
      SimulatedProcess process = simulation.process("A");
      process.spawn(
          "main",
          () -> {
            CompletableFuture<String> future = new CompletableFuture<>();
            process
                .execution()
                .downloads()
                .execute(
                    () -> future.completeExceptionally(StateBackendException.fenced("replaced")));
            process.execution().await(future);
          });
      assertThatThrownBy(simulation::run)
          .hasMessageContaining("A/main failed")
          .hasMessageContaining("replaced");
    }
  }

  @Test
  void run_deadlock_failsWithThePoints() {
    try (Simulation simulation = Simulation.ofSeed(1)) {
      SimulatedProcess process = simulation.process("A");
      process.spawn("waiting", () -> process.execution().await(new CompletableFuture<String>()));
      assertThatThrownBy(simulation::run)
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("no actor is runnable")
          .hasMessageContaining("A/waiting at await")
          .hasMessageContaining("SimulationTest");
    }
  }

  @Test
  void run_endlessRetries_failWithTheirLastSteps() {
    try (Simulation simulation = Simulation.ofSeed(1)) {
      SimulatedProcess process = simulation.process("A");
      simulation.limitSteps(1_000);
      process.spawn(
          "main",
          () -> {
            while (true) {
              process.execution().sleep(Duration.ofSeconds(1));
            }
          });
      assertThatThrownBy(simulation::run).hasMessageContaining("no end after 1000 steps");
    }
  }

  @Test
  void invariant_violated_failsAtThatStep() {
    try (Simulation simulation = Simulation.ofSeed(1)) {
      SimulatedProcess process = simulation.process("A");
      BlobStore store = process.store(blobs, Network.RELIABLE);
      simulation.invariant(() -> assertThat(blobs.content()).hasSizeLessThan(3));
      process.spawn(
          "main",
          () -> {
            for (int i = 0; i < 5; i++) {
              store.putIfAbsent("b" + i, new byte[0]);
            }
          });
      assertThatThrownBy(simulation::run)
          .hasMessageContaining("an invariant does not hold")
          .hasMessageContaining("A/main putifabsent b2");
      assertThat(blobs.content()).hasSize(3);
    }
  }

  @Test
  void kill_process_keepsOnlyDurableEffects() {
    try (Simulation simulation = Simulation.ofSeed(1)) {
      SimulatedProcess process = simulation.process("A");
      BlobStore store = process.store(blobs, Network.RELIABLE);
      process
          .execution()
          .schedule(Duration.ofSeconds(1), () -> store.putIfAbsent("t", new byte[0]));
      process.spawn(
          "main",
          () -> {
            try {
              store.putIfAbsent("a", new byte[0]);
              store.putIfAbsent("b", new byte[0]);
            } finally {
              store.putIfAbsent("c", new byte[0]);
            }
          });
      process.holdAt("putifabsent b");
      process.holdAt("putifabsent t");
      assertThat(simulation.run()).isEqualTo(Simulation.End.HELD);
      assertThat(process.heldAt()).contains("main at putifabsent b");
      process.kill();
      process.kill();
      assertThat(simulation.run()).isEqualTo(Simulation.End.DONE);
      assertThat(blobs.content().keySet()).containsExactly("a");
      process.spawn("too late", () -> store.putIfAbsent("d", new byte[0]));
      simulation.run();
      assertThat(blobs.content().keySet()).containsExactly("a");
    }
  }

  @Test
  void kill_ownProcess_othersContinue() {
    try (Simulation simulation = Simulation.ofSeed(1)) {
      SimulatedProcess victim = simulation.process("A");
      SimulatedProcess other = simulation.process("B");
      BlobStore store = other.store(blobs, Network.RELIABLE);
      victim.spawn("suicide", victim::kill);
      other.spawn("main", () -> store.putIfAbsent("b", new byte[0]));
      assertThat(simulation.run()).isEqualTo(Simulation.End.DONE);
      assertThat(blobs.content().keySet()).containsExactly("b");
    }
  }

  @Test
  void lateRequest_callerDied_takesEffect() {
    try (Simulation simulation = Simulation.ofSeed(1)) {
      SimulatedProcess process = simulation.process("A");
      BlobStore store = process.store(blobs, new Network(0, 0, 1));
      process.spawn(
          "main",
          () ->
              assertThatThrownBy(() -> store.putIfAbsent("a", new byte[0]))
                  .isInstanceOf(StateBackendException.class));
      simulation.run();
      process.kill();
      SimulatedProcess later = simulation.process("B");
      later.spawn("main", () -> later.execution().sleep(Duration.ofHours(1)));
      simulation.run();
      assertThat(blobs.content().keySet()).containsExactly("a");
    }
  }

  /** Two increments of a stored counter, each with a read and a write. */
  private void increments(Simulation simulation) {
    MapBlobStore counter = new MapBlobStore();
    counter.putIfAbsent("count-0", new byte[0]);
    for (String name : List.of("A", "B")) {
      SimulatedProcess process = simulation.process(name);
      BlobStore store = process.store(counter, Network.RELIABLE);
      process.spawn(
          "main", () -> store.putIfAbsent("count-" + store.list("count").size(), new byte[0]));
    }
    simulation.run();
    assertThat(counter.content()).hasSize(3);
  }

  @Test
  void explore_onePreemption_findsTheLostUpdate() {
    assertThatThrownBy(
            () -> Explorer.explore(Explorer.Bounds.preemptions(1, 0, 1_000), this::increments))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("choices [");
  }

  @Test
  void explore_noPreemptions_isExhaustedAndPasses() {
    Explorer.Outcome outcome =
        Explorer.explore(Explorer.Bounds.preemptions(0, 0, 1_000), this::increments);
    assertThat(outcome).isEqualTo(new Explorer.Outcome(2, true));
  }

  @Test
  void explore_everyOrder_runsOnce() {
    Set<String> orders = new HashSet<>();
    Explorer.Outcome outcome =
        Explorer.explore(
            Explorer.Bounds.preemptions(100, 0, 1_000),
            simulation -> {
              StringBuilder order = new StringBuilder();
              for (String name : List.of("A", "B")) {
                SimulatedProcess process = simulation.process(name);
                process.spawn(
                    "main",
                    () -> {
                      order.append(name);
                      process.point("between");
                      order.append(name);
                    });
              }
              simulation.run();
              orders.add(order.toString());
            });
    assertThat(outcome.exhausted()).isTrue();
    assertThat(orders).containsExactlyInAnyOrder("AABB", "ABAB", "ABBA", "BBAA", "BABA", "BAAB");
  }

  @Test
  void explore_faults_runsWithAndWithout() {
    List<Integer> stored = new ArrayList<>();
    Explorer.Outcome outcome =
        Explorer.explore(
            Explorer.Bounds.preemptions(0, 1, 1_000),
            simulation -> {
              MapBlobStore map = new MapBlobStore();
              SimulatedProcess process = simulation.process("A");
              BlobStore store = process.store(map, new Network(1e-9, 1e-9, 0));
              process.spawn(
                  "main",
                  () -> {
                    try {
                      store.putIfAbsent("a", new byte[0]);
                      store.putIfAbsent("b", new byte[0]);
                    } catch (StateBackendException e) {
                      assertThat(e).hasMessageContaining("simulated failure");
                    }
                  });
              simulation.run();
              stored.add(map.content().size());
            });
    assertThat(outcome.exhausted()).isTrue();
    assertThat(stored).containsExactlyInAnyOrder(2, 0, 1, 1, 2);
  }
}
