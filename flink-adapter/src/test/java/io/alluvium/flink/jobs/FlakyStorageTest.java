package io.alluvium.flink.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.flink.AlluviumOptions;
import io.alluvium.testkit.Seeds;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Storage that often refuses a file fails checkpoints and never a task; the checkpoints that
 * complete between restore exactly.
 */
final class FlakyStorageTest {

  private static final int FAILURES_PER_HUNDRED = 40;
  private static final int FAILURES = 30;
  private static final long PERMITS_PER_TURN = 5;
  private static final long TURN_MILLIS = 5;

  @TempDir Path directory;

  static Stream<Long> seeds() {
    return Seeds.of(1);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void job_onStorageThatRefusesFiles_neverFailsAndIsExact(long seed) throws Exception {
    Random random = new Random(seed);
    Traffic traffic = new Traffic(seed, 4, 20_000, 50);
    Configuration configuration = configuration(random);
    String name = "flaky-" + seed;
    JobRun run = JobRun.start(name);
    try (Cluster cluster = new Cluster(new Configuration())) {
      JobID first =
          cluster.submit(
              RescaledJob.graph(Job.TIMERS, traffic, configuration, 2, name),
              SavepointRestoreSettings.none());
      suffer(cluster, first, run, random);
      String checkpoint = cluster.cancel(first);

      run.beginPhase();
      JobID second =
          cluster.submit(
              RescaledJob.graph(Job.TIMERS, traffic, configuration, 3, name),
              SavepointRestoreSettings.forPath(checkpoint, false, RecoveryClaimMode.CLAIM));
      suffer(cluster, second, run, random);
      run.release(Long.MAX_VALUE / 2);
      cluster.awaitFinished(second);
      assertThat(run.lines()).isEqualTo(Job.TIMERS.expected(traffic));
    } finally {
      FlakyFileSystem.fail(0, 0);
      JobRun.end(name);
    }
  }

  private Configuration configuration(Random random) {
    Configuration configuration = Scenario.configuration(random, directory.toUri().toString());
    configuration.set(AlluviumOptions.CHANGELOG_ENABLED, true);
    configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofMillis(100));
    configuration.set(
        CheckpointingOptions.CHECKPOINTS_DIRECTORY, "flaky://" + directory.toUri().getPath());
    configuration.set(CheckpointingOptions.FS_SMALL_FILE_THRESHOLD, MemorySize.ZERO);
    configuration.set(CheckpointingOptions.TOLERABLE_FAILURE_NUMBER, Integer.MAX_VALUE);
    configuration.set(CheckpointingOptions.ENABLE_UNALIGNED, false);
    configuration.setString("dstl.dfs.upload.next-attempt-delay", "5 ms");
    // A task that failed would end the job.
    configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
    return configuration;
  }

  /** Until files failed often enough, and a checkpoint completed while they did. */
  private static void suffer(Cluster cluster, JobID job, JobRun run, Random random)
      throws Exception {
    FlakyFileSystem.fail(random.nextLong(), FAILURES_PER_HUNDRED);
    while (FlakyFileSystem.failures() < FAILURES || run.completedCheckpoints() == 0) {
      cluster.checkRunning(job);
      run.release(PERMITS_PER_TURN);
      Thread.sleep(TURN_MILLIS);
    }
    FlakyFileSystem.fail(0, 0);
  }
}
