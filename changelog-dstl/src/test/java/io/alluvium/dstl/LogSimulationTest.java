package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.internal.remote.GuardedBlobStore;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.RequestListener;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.sim.SimulatedBlobStore;
import io.alluvium.testkit.sim.SimulatedProcess;
import io.alluvium.testkit.sim.Simulation;
import io.alluvium.testkit.table.Change;
import io.alluvium.testkit.table.Changes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Two tasks, their log and an unreliable network, every order of events chosen by a seed. Whatever
 * was reported as durable is in the store, also after the process was killed.
 */
final class LogSimulationTest {

  private static final int TASKS = 2;

  static Stream<Long> seeds() {
    return Seeds.of(60);
  }

  /** What a task was told: these blocks hold these changes. */
  private record Promise(List<BlockRef> blocks, List<String> changes) {}

  private final MapBlobStore map = new MapBlobStore();
  private final List<Promise> promises = new ArrayList<>();

  @ParameterizedTest
  @MethodSource("seeds")
  void whatWasReportedDurable_isStored(long seed) {
    Random random = new Random(seed);
    boolean killed = random.nextInt(3) == 0;
    Map<String, String> settings = new HashMap<>();
    settings.put("dstl.dfs.upload.timeout", "5ms");
    settings.put("dstl.dfs.upload.next-attempt-delay", "2ms");
    settings.put("dstl.dfs.upload.max-in-flight", "600 kb");
    settings.put("dstl.dfs.preemptive-persist-threshold", "300 kb");
    settings.put("dstl.dfs.compression.enabled", Boolean.toString(random.nextBoolean()));
    try (Simulation simulation = Simulation.ofSeed(seed)) {
      SimulatedProcess process = simulation.process("p");
      SimulatedBlobStore.Network network =
          new SimulatedBlobStore.Network(
              random.nextDouble() / 4,
              random.nextDouble() / 4,
              random.nextDouble() / 8,
              random.nextDouble() / 4,
              random.nextDouble() / 16);
      Log log =
          new Log(storeOf(process, network, random.nextBoolean()), process.execution(), settings);
      for (int id = 0; id < TASKS; id++) {
        int task = id;
        long taskSeed = random.nextLong();
        process.spawn("task" + id, () -> run(log, process, task, taskSeed));
      }
      if (killed) {
        SimulatedProcess murderer = simulation.process("killer");
        long nanos = random.nextLong(40_000_000);
        murderer.spawn(
            "kill",
            () -> {
              murderer.execution().sleep(Duration.ofNanos(nanos));
              process.kill();
            });
      }
      simulation.run();
    }
    checkPromises();
  }

  private BlobStore storeOf(
      SimulatedProcess process, SimulatedBlobStore.Network network, boolean secondRequests) {
    BlobStore store = process.store(map, network);
    return secondRequests
        ? GuardedBlobStore.over(
            store,
            new GuardedBlobStore.Context(process.execution(), 1, Metrics.NONE),
            RequestListener.NONE)
        : store;
  }

  private void run(Log log, SimulatedProcess process, int id, long seed) {
    Random random = new Random(seed);
    Changelog changelog = log.open(id);
    Changes changes = new Changes(random, Log.KEY_GROUPS, 0);
    List<Change> written = new ArrayList<>();
    int trimmed = 0;
    for (int round = 0; round < 5; round++) {
      for (int i = random.nextInt(random.nextInt(3) == 0 ? 3_000 : 30); i > 0; i--) {
        Change change = changes.next();
        Log.append(changelog, change);
        written.add(change);
      }
      try {
        List<BlockRef> blocks = process.execution().await(changelog.persist(trimmed));
        assertThat(changelog.durableUpTo()).isEqualTo(written.size());
        assertThat(changelog.liveBlobs()).containsAll(blobs(blocks));
        int first = blocks.isEmpty() ? written.size() : (int) blocks.get(0).fromSqn();
        promises.add(new Promise(blocks, Log.lines(written.subList(first, written.size()))));
      } catch (StateBackendException e) {
        assertThat(e.kind()).as("%s", e).isEqualTo(StateBackendException.Kind.UNAVAILABLE);
      }
      if (random.nextInt(4) == 0) {
        trimmed = random.nextInt(trimmed, written.size() + 1);
        changelog.trim(trimmed);
      }
    }
    changelog.close();
  }

  private static List<BlobName> blobs(List<BlockRef> blocks) {
    return blocks.stream().map(BlockRef::blob).toList();
  }

  private void checkPromises() {
    StepExecution execution = new StepExecution();
    Log reader = new Log(map, execution, Map.of());
    KeyGroupRange all = Log.KEY_GROUPS;
    for (Promise promise : promises) {
      assertThat(Log.lines(reader.read(promise.blocks(), all))).isEqualTo(promise.changes());
    }
  }
}
