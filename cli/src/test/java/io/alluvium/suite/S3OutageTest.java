package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.ValueState;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.s3.FaultPolicy;
import io.alluvium.testkit.s3.FaultProxy;
import io.alluvium.testkit.s3.S3Server;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A job on object storage that is slow, loses and refuses requests, and is away altogether for a
 * while: no task fails, memory stays bounded, the tasks are told to wait, and checkpoints catch up.
 */
final class S3OutageTest {

  private static final int SUBTASKS = 2;
  private static final int GROUPS = 8;
  private static final long IN_FLIGHT_BYTES = 4 << 20;

  /** Whatever its bound, each subtask may put one more block in flight. */
  private static final long BLOCK_BYTES = 288 << 10;

  private static final Duration OUTAGE = Duration.ofSeconds(Seeds.full() ? 60 : 4);

  private static final FaultPolicy.Profile PROFILE =
      new FaultPolicy.Profile(
          Duration.ofMillis(2), 0.8, 0.01, Duration.ofSeconds(2), 0.01, 0.005, 4);

  @TempDir private Path directory;

  private final String uri = S3Server.freshUri();
  private final OutageMetrics metrics = new OutageMetrics();

  static Stream<Long> seeds() {
    return Seeds.of(1);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void outage_failsNoTask_andCheckpointsCatchUp(long seed) throws Exception {
    Map<Long, List<long[]>> expected = new HashMap<>();
    try (FaultProxy proxy = FaultProxy.before(S3Server.get().endpoint());
        StateBackend backend =
            StateBackend.open(
                settings("live", S3Server.settings(proxy.endpoint())),
                Components.defaults().withMetrics(metrics))) {
      proxy.policy(FaultPolicy.seeded(seed, PROFILE));
      backend.catalog().takeOver("outage");
      try (OutageTasks tasks = new OutageTasks(keyed(backend, List.of()))) {
        checkpoints(backend, tasks, 5, expected);
        long waitedBefore = metrics.backpressureMicros();

        proxy.startOutage();
        CountDownLatch ending = new CountDownLatch(1);
        Thread outage = new Thread(() -> endAfterAWhile(proxy, ending));
        outage.start();
        long updatesBefore = tasks.updates();
        int confirmed = 0;
        while (ending.getCount() > 0) {
          confirmed += checkpoint(backend, tasks, expected) ? 1 : 0;
        }
        outage.join();
        assertThat(tasks.updates()).as("updates meanwhile").isGreaterThan(updatesBefore);
        assertThat(confirmed).as("the one that waited for the end, at most").isLessThan(3);
        assertThat(metrics.mostInFlightBytes())
            .as("bytes in flight")
            .isLessThanOrEqualTo(IN_FLIGHT_BYTES + SUBTASKS * BLOCK_BYTES);

        checkpoints(backend, tasks, 5, expected);
        // Told at the end of a wait, which may come later than that of the outage.
        assertThat(metrics.backpressureMicros()).as("waited").isGreaterThan(waitedBefore);
        tasks.checkAlive();
      }
    }
    checkRestored(expected);
  }

  /** Not before the memory is full, however slow the machine is. */
  private void endAfterAWhile(FaultProxy proxy, CountDownLatch ending) {
    long end = System.nanoTime() + OUTAGE.toNanos();
    long latest = end + TimeUnit.SECONDS.toNanos(60);
    try {
      // For a moment both forms of a block count: it is full when it is so twice in a row.
      int full = 0;
      while (System.nanoTime() < (full < 2 ? latest : end)) {
        full = metrics.sample() >= IN_FLIGHT_BYTES ? full + 1 : 0;
        Thread.sleep(20);
      }
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    } finally {
      ending.countDown();
      proxy.endOutage();
    }
  }

  /** Takes checkpoints until so many are confirmed. */
  private static void checkpoints(
      StateBackend backend, OutageTasks tasks, int wanted, Map<Long, List<long[]>> expected)
      throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    for (int confirmed = 0; confirmed < wanted; ) {
      confirmed += checkpoint(backend, tasks, expected) ? 1 : 0;
      assertThat(System.nanoTime()).as("%s confirmed", confirmed).isLessThan(deadline);
      Thread.sleep(100);
    }
  }

  private static boolean checkpoint(
      StateBackend backend, OutageTasks tasks, Map<Long, List<long[]>> expected) throws Exception {
    OutageTasks.Taken taken = tasks.checkpoint();
    List<CheckpointHandle> handles;
    try {
      handles = taken.handles();
    } catch (StateBackendException e) {
      assertThat(e.kind()).as("%s", e.getMessage()).isEqualTo(Kind.UNAVAILABLE);
      tasks.abort(taken.id());
      return false;
    }
    backend.catalog().commit(taken.id(), handles, new byte[0]);
    tasks.confirm(taken.id());
    expected.clear();
    expected.put(taken.id(), taken.counts());
    return true;
  }

  private Map<String, String> settings(String local, Map<String, String> server) {
    Map<String, String> settings = new HashMap<>(server);
    settings.put("state.checkpoints.dir", uri);
    settings.put("state.backend.rocksdb.localdir", directory.resolve(local).toString());
    settings.put("state.backend.changelog.periodic-materialize.interval", "1s");
    settings.put("dstl.dfs.upload.max-in-flight", IN_FLIGHT_BYTES / 1024 + " kb");
    settings.put("dstl.dfs.preemptive-persist-threshold", "512 kb");
    settings.put("dstl.dfs.upload.next-attempt-delay", "100ms");
    settings.put("alluvium.checkpoint.commit-timeout", "10m");
    return settings;
  }

  private static List<KeyedBackend<Integer>> keyed(
      StateBackend backend, List<CheckpointHandle> handles) {
    return IntStream.range(0, SUBTASKS)
        .mapToObj(
            i ->
                backend.keyed(
                    Serializers.int32(),
                    GROUPS,
                    KeyGroupRange.ofSubtask(GROUPS, SUBTASKS, i),
                    handles,
                    backend.catalog().restoreMode()))
        .toList();
  }

  /** Without the proxy: what is stored is what was confirmed last. */
  private void checkRestored(Map<Long, List<long[]>> expected) {
    try (StateBackend backend =
        StateBackend.open(settings("restored", S3Server.get().settings()))) {
      Checkpoint checkpoint = backend.catalog().takeOver("outage").orElseThrow();
      List<long[]> counts = expected.get(checkpoint.id());
      assertThat(counts).as("checkpoint %s of %s", checkpoint.id(), expected.keySet()).isNotNull();
      List<KeyedBackend<Integer>> subtasks = keyed(backend, checkpoint.handles());
      for (int i = 0; i < SUBTASKS; i++) {
        KeyedBackend<Integer> subtask = subtasks.get(i);
        ValueState<byte[]> state = subtask.state(OutageTasks.COUNT);
        long[] mine = counts.get(i);
        for (int key = 0; key < mine.length; key++) {
          if (subtask.keyGroups().contains(subtask.keyGroupOf(key))) {
            subtask.setCurrentKey(key);
            assertThat(OutageTasks.count(state.value())).as("key %s", key).isEqualTo(mine[key]);
          } else {
            assertThat(mine[key]).isZero();
          }
        }
      }
    }
  }
}
