package io.alluvium.testkit.owner;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.internal.catalog.CatalogSettings;
import io.alluvium.internal.catalog.CatalogSettings.Fencing;
import io.alluvium.internal.remote.GuardedBlobStore;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.RequestListener;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.sim.Choices;
import io.alluvium.testkit.sim.Explorer;
import io.alluvium.testkit.sim.SimulatedBlobStore.Network;
import io.alluvium.testkit.sim.SimulatedProcess;
import io.alluvium.testkit.sim.Simulation;
import java.time.Duration;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Owners, takers and zombies of one job against the real catalog, as in models/chain.py. Invariants
 * after every step: the newest manifest references no missing blob, and no output is lost or
 * duplicated. No transaction is committed after its rollback. Ids increase, and there is at most
 * one owner.
 */
final class OwnersTest {

  private static final Network LOSSY = new Network(0.02, 0.05, 0.05);
  private static final Network SLOW = new Network(0.02, 0.05, 0.05, 0.2, 0.02);
  private static final Network[] NETWORKS = {Network.RELIABLE, LOSSY, SLOW};
  private static final int SEEDS_PER_TEST = 25;
  private static final int MAX_RUNS = 100_000;

  static Stream<Long> batches() {
    return Seeds.of(12);
  }

  @ParameterizedTest
  @MethodSource("batches")
  void randomHistory_killsAndLostAnswers_keepsInvariants(long batch) {
    for (long seed = batch * SEEDS_PER_TEST; seed < (batch + 1) * SEEDS_PER_TEST; seed++) {
      try {
        randomHistory(seed);
      } catch (AssertionError e) {
        throw new AssertionError("seed " + seed + " (-Dseed=" + batch + "): " + e.getMessage(), e);
      }
    }
  }

  private static void randomHistory(long seed) {
    Random random = new Random(seed);
    int retained = 1 + random.nextInt(2);
    long limit = 4L + random.nextInt(6);
    try (Simulation simulation = Simulation.ofSeed(seed)) {
      World world = new World(simulation, retained, limit);
      int owners = 2 + random.nextInt(4);
      for (int i = 0; i < owners; i++) {
        SimulatedProcess process = world.owner(NETWORKS[random.nextInt(NETWORKS.length)]);
        if (random.nextInt(3) == 0) {
          killSoon(simulation, process, Duration.ofMillis(random.nextInt(2_000)));
        }
      }
      simulation.run();
      simulation.settle();
      world.finish();
    }
  }

  private static void killSoon(Simulation simulation, SimulatedProcess victim, Duration after) {
    SimulatedProcess killer = simulation.process("killer of " + victim.name());
    killer.spawn(
        "main",
        () -> {
          killer.execution().sleep(after);
          victim.kill();
        });
  }

  @Test
  void twoOwners_everyOrder_keepsInvariants() {
    explore(Explorer.Bounds.preemptions(1, 0, MAX_RUNS), 2, 2, Network.RELIABLE);
    explore(Explorer.Bounds.preemptions(2, 0, MAX_RUNS), 2, Seeds.full() ? 2 : 1, Network.RELIABLE);
  }

  @Test
  void twoOwners_everyOrderWithOneFault_keepsInvariants() {
    Network network = new Network(1e-9, 1e-9, 1e-9);
    explore(Explorer.Bounds.preemptions(0, 1, MAX_RUNS), 2, 2, network);
    explore(Explorer.Bounds.preemptions(1, 1, MAX_RUNS), 2, Seeds.full() ? 2 : 1, network);
  }

  @Test
  void threeOwners_everyOrder_keepsInvariants() {
    explore(Explorer.Bounds.preemptions(1, 0, MAX_RUNS), 3, Seeds.full() ? 2 : 1, Network.RELIABLE);
  }

  private static void explore(Explorer.Bounds bounds, int owners, long limit, Network network) {
    Explorer.Outcome outcome =
        Explorer.explore(
            bounds,
            simulation -> {
              World world = new World(simulation, 1, limit);
              for (int i = 0; i < owners; i++) {
                world.owner(network);
              }
              simulation.run();
              simulation.settle();
              world.finish();
            });
    assertThat(outcome.exhausted()).as("%s of %s", outcome, bounds).isTrue();
  }

  /** One store, one sink, and several owners, sequential or concurrent. */
  private static final class World {
    private final Simulation simulation;
    private final MapBlobStore blobs = new MapBlobStore();
    private final Sink sink = new Sink();
    private final ManifestLogChecker manifestLog = new ManifestLogChecker(blobs, sink);
    private final CatalogSettings settings;
    private final long limit;
    private int owners;

    private World(Simulation simulation, int retained, long limit) {
      this.simulation = simulation;
      this.settings =
          new CatalogSettings(
              retained, false, Duration.ofSeconds(2), Fencing.PUT_IF_ABSENT, "test");
      this.limit = limit;
      simulation.invariant(manifestLog::check);
    }

    private SimulatedProcess owner(Network network) {
      int number = ++owners;
      SimulatedProcess process = simulation.process("P" + number);
      Choices choices = simulation.choices();
      BlobStore store = storeOf(process, network);
      process.spawn(
          "main",
          () -> {
            CatalogState state = new CatalogState(process, store, settings, new Random(number));
            new Owner(process, state, sink, manifestLog, choices, limit).run();
          });
      return process;
    }

    /** Hedged requests only on slow networks, because their timers double the orders to explore. */
    private BlobStore storeOf(SimulatedProcess process, Network network) {
      BlobStore store = process.store(blobs, network);
      return network.slow() == 0
          ? store
          : GuardedBlobStore.over(
              store,
              new GuardedBlobStore.Context(process.execution(), 1, Metrics.NONE),
              RequestListener.NONE);
    }

    /** A last owner without faults finishes the job and leaves no unreferenced blob. */
    private void finish() {
      owner(Network.RELIABLE);
      simulation.run();
      assertThat(manifestLog.newestOffset()).isEqualTo(limit);
      for (long offset = 1; offset <= limit; offset++) {
        assertThat(sink.isCommitted(offset)).isTrue();
      }
      assertThat(blobs.content().keySet())
          .filteredOn(name -> name.startsWith("data/"))
          .containsExactlyInAnyOrderElementsOf(manifestLog.needed());
    }
  }
}
