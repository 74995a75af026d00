package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.Components;
import io.alluvium.StateBackend;
import io.alluvium.spi.Metrics;
import io.alluvium.testkit.MemoryDirectories;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.owner.KeyedState;
import io.alluvium.testkit.owner.ManifestLogChecker;
import io.alluvium.testkit.owner.Owner;
import io.alluvium.testkit.owner.Sink;
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
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Owners, takers and zombies with whole backends: state, changelog, materializer, catalog and sink
 * run under one seed, with kills, lost answers, late requests and stalls of any length.
 */
final class WholeOwnersTest {

  private static final Network LOSSY = new Network(0.01, 0.03, 0.03, 0.03, 0.01);

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  static Stream<Long> seeds() {
    return Seeds.of(150);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void anyHistory_keepsEveryInvariant(long seed) {
    Random random = new Random(seed);
    Map<String, String> settings = new HashMap<>();
    settings.put("state.checkpoints.dir", "memory:");
    settings.put("state.backend.type", random.nextBoolean() ? "heap" : "yielding-heap");
    settings.put("state.backend.changelog.enabled", random.nextInt(4) == 0 ? "false" : "true");
    settings.put("alluvium.restore.time-objective", random.nextBoolean() ? "1us" : "0");
    settings.put("state.checkpoints.num-retained", "" + (1 + random.nextInt(2)));
    long limit = 4L + random.nextInt(8);
    try (Simulation simulation = Simulation.ofSeed(seed)) {
      World world = new World(simulation, settings, limit);
      int owners = 2 + random.nextInt(3);
      for (int i = 0; i < owners; i++) {
        SimulatedProcess process = world.owner(random.nextInt(3) == 0 ? Network.RELIABLE : LOSSY);
        if (random.nextInt(3) == 0) {
          killSoon(simulation, process, Duration.ofMillis(random.nextInt(5_000)));
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

  private final class World {
    private final Simulation simulation;
    private final Map<String, String> settings;
    private final long limit;
    private final MapBlobStore blobs = new MapBlobStore();
    private final Sink sink = new Sink();
    private final ManifestLogChecker manifestLog = new ManifestLogChecker(blobs, sink);
    private final List<SimulatedProcess> owners = new ArrayList<>();

    private World(Simulation simulation, Map<String, String> settings, long limit) {
      this.simulation = simulation;
      this.settings = settings;
      this.limit = limit;
      simulation.invariant(manifestLog::check);
    }

    private SimulatedProcess owner(Network network) {
      int number = owners.size() + 1;
      SimulatedProcess process = simulation.process("P" + number);
      owners.add(process);
      process.spawn(
          "main",
          () ->
              new Owner(
                      process,
                      state(process, network, number),
                      sink,
                      manifestLog,
                      simulation.choices(),
                      limit)
                  .run());
      return process;
    }

    private KeyedState state(SimulatedProcess process, Network network, int number) {
      Map<String, String> all = new HashMap<>(settings);
      all.put("state.backend.rocksdb.localdir", directory.resolve(process.name()).toString());
      StateBackend backend =
          StateBackend.open(
              all,
              new Components(
                  Optional.of(process.store(blobs, network)),
                  Optional.of(process.execution()),
                  new Random(number),
                  Metrics.NONE));
      return new KeyedState(backend, process.execution());
    }

    /** An owner whom nobody disturbs finishes the job, and leaves nothing behind. */
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
