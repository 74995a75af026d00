package io.alluvium.suite;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.testkit.MemoryDirectories;
import io.alluvium.testkit.OpenFiles;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.blob.FaultPlan;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.script.Matrix;
import io.alluvium.testkit.script.Script;
import io.alluvium.testkit.script.ScriptRunner;
import io.alluvium.testkit.script.Scripts;
import io.alluvium.testkit.script.SimulatedDeployment;
import io.alluvium.testkit.sim.RandomChoices;
import io.alluvium.testkit.sim.SimulatedBlobStore;
import io.alluvium.testkit.sim.Simulation;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Seeded histories of jobs (states, checkpoints, kills, rescaling, faults, changed settings)
 * against the reference model, over the configuration matrix: whatever the settings, one history.
 */
final class ScriptsTest {

  static final int LENGTH = 110;

  private static final Map<String, List<String>> COMMON =
      Map.ofEntries(
          entry("state.backend.changelog.enabled", List.of("true", "true", "false")),
          entry(
              "state.backend.changelog.periodic-materialize.interval",
              List.of("10m", "10m", "0", "1s")),
          entry("alluvium.restore.time-objective", List.of("10s", "1us")),
          entry("alluvium.restore.fallback", List.of("true", "true", "false")),
          entry("alluvium.materialize.num-threads", List.of("1", "2")),
          entry("state.checkpoints.num-retained", List.of("1", "2")),
          entry("state.backend.local-recovery", List.of("false", "true")),
          entry("dstl.dfs.compression.enabled", List.of("false", "true")),
          entry("dstl.dfs.preemptive-persist-threshold", List.of("5 mb", "1 kb")),
          entry("dstl.dfs.batch.persist-size-threshold", List.of("10 mb", "1 kb")),
          entry("dstl.dfs.upload.retry-policy", List.of("adaptive", "fixed", "none")));

  private static int openAtFirst;

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  /** Whoever was killed or closed keeps no file open. */
  @AfterAll
  static void openFiles_afterAllHistories_areNoMoreThanAfterAFew() {
    int now = OpenFiles.count();
    assertThat(now).as("open files of this JVM").isLessThan(openAtFirst + 50);
  }

  @BeforeAll
  static void countOpenFiles() {
    openAtFirst = OpenFiles.count();
  }

  static Matrix matrix(String... types) {
    Map<String, List<String>> choices = new TreeMap<>(COMMON);
    choices.put("state.backend.type", List.of(types));
    return new Matrix(choices);
  }

  /** Real time is dear. */
  static Matrix onThreads() {
    Map<String, List<String>> choices = new TreeMap<>(matrix("rocksdb").choices());
    choices.put("dstl.dfs.upload.next-attempt-delay", List.of("1ms"));
    return new Matrix(choices);
  }

  static Stream<Long> heapSeeds() {
    return Seeds.of(400);
  }

  static Stream<Long> rocksDbSeeds() {
    return Seeds.of(80);
  }

  static Stream<Long> threadSeeds() {
    return Seeds.of(20);
  }

  /** The step that the seeds use, with each kind of damage. */
  @ParameterizedTest
  @ValueSource(strings = {"idle", "value.update v x3\ncheckpoint 3\nconfirm 3"})
  void damagedNewest_isFallenBackFrom(String more) {
    Script script =
        Script.parse(
            "set alluvium.restore.fallback=true\nset state.checkpoints.num-retained=2\n"
                + "value.update v x1\ncheckpoint 1\nconfirm 1\n"
                + "value.update v x2\ncheckpoint 2\nconfirm 2\n"
                + more
                + "\ndamage newest\ncheck\n");
    try (Simulation simulation = new Simulation(new RandomChoices(1));
        SimulatedDeployment deployment =
            new SimulatedDeployment(
                simulation,
                new MapBlobStore(),
                SimulatedBlobStore.Network.RELIABLE,
                directory,
                new FaultPlan())) {
      ScriptRunner runner = new ScriptRunner(deployment, script, 8);
      deployment.run(runner::run);
      assertThat(runner.fallbacks()).isPositive();
    }
  }

  @ParameterizedTest
  @MethodSource("heapSeeds")
  void simulated_onTheHeap_equalsTheModel(long seed) {
    Scripts.simulate(seed, matrix("heap", "yielding-heap", "yielding-heap"), LENGTH, directory);
  }

  @ParameterizedTest
  @MethodSource("rocksDbSeeds")
  void simulated_onRocksDbAndHeapInTurns_equalsTheModel(long seed) {
    Scripts.simulate(seed, matrix("rocksdb", "yielding-rocksdb", "heap"), LENGTH, directory);
  }

  @ParameterizedTest
  @MethodSource("threadSeeds")
  void threaded_onRocksDb_equalsTheModel(long seed) {
    Scripts.runOnThreads(seed, onThreads(), LENGTH, directory);
  }
}
