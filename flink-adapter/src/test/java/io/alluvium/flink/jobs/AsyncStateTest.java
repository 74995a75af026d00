package io.alluvium.flink.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.flink.AlluviumOptions;
import io.alluvium.flink.AlluviumStateBackendFactory;
import io.alluvium.flink.Eventually;
import io.alluvium.flink.StoredFiles;
import io.alluvium.testkit.Seeds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.state.rocksdb.RocksDBOptions;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Flink's adaptor for asynchronous state disposes of no backend. A job that restarts again and
 * again must leave nothing of its old attempts all the same.
 */
final class AsyncStateTest {

  private static final int RESTARTS = Seeds.full() ? 50 : 6;
  private static final int PARALLELISM = 2;
  private static final int RECORDS_BETWEEN = 60;
  private static final int PERMITS_PER_TURN = 10;

  @TempDir private Path directory;

  @EnabledOnOs(OS.LINUX)
  @ParameterizedTest
  @EnumSource(
      value = Job.class,
      names = {"ASYNC_TIMERS", "ASYNC_SQL"})
  void restarts_leaveNothingBehind(Job job) throws Exception {
    Path local = Files.createDirectory(directory.resolve("local"));
    Traffic traffic = new Traffic(7, 4, RESTARTS * 400L, 40);
    String name = "restarts of " + job;
    JobRun run = JobRun.start(name);
    try (Cluster cluster = new Cluster(new Configuration())) {
      run.beginPhase();
      JobID id =
          cluster.submit(
              RescaledJob.graph(job, traffic, configuration(local), PARALLELISM, name),
              SavepointRestoreSettings.none());
      cluster.awaitCheckpoint(id);
      long running = keyedBackends(local);
      assertThat(running).isPositive();
      for (int restart = 0; restart < RESTARTS; restart++) {
        // In turns in the task of the keyed operator and in one before it, which ends that one by a
        // cancellation.
        JobRun.Place place = restart % 2 == 0 ? JobRun.Place.RECORD : JobRun.Place.OUTPUT;
        run.failAt(place, 1 + restart % RECORDS_BETWEEN);
        int before = run.completedCheckpoints();
        while (run.plannedFailures() > 0 || run.completedCheckpoints() == before) {
          cluster.checkRunning(id);
          run.trickle(run.plannedFailures() == 0 ? 0 : PERMITS_PER_TURN);
          Thread.sleep(5);
        }
      }
      awaitCount("local directories", () -> keyedBackends(local), running);
      run.release(Long.MAX_VALUE / 2);
      cluster.awaitFinished(id);
      assertThat(job.relevant(run.lines())).isEqualTo(job.expected(traffic));
      awaitCount("local directories", () -> keyedBackends(local), 0);
      awaitCount("files that are open", () -> openFiles(local), 0);
      awaitCount("threads", AsyncStateTest::threads, 0);
      Path taskOwned = directory.resolve("checkpoints").resolve(id.toString()).resolve("taskowned");
      Eventually.that(() -> StoredFiles.below(taskOwned).isEmpty());
    } finally {
      JobRun.end(name);
    }
  }

  private Configuration configuration(Path local) {
    Configuration configuration = new Configuration();
    configuration.set(
        StateBackendOptions.STATE_BACKEND, AlluviumStateBackendFactory.class.getName());
    configuration.set(RocksDBOptions.LOCAL_DIRECTORIES, local.toString());
    configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofMillis(40));
    configuration.set(
        CheckpointingOptions.CHECKPOINTS_DIRECTORY,
        directory.resolve("checkpoints").toUri().toString());
    configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(25));
    configuration.set(CheckpointingOptions.FS_SMALL_FILE_THRESHOLD, MemorySize.ZERO);
    configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
    configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, RESTARTS + 50);
    configuration.set(
        RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ofMillis(1));
    return configuration;
  }

  /** By their local directories. */
  private static long keyedBackends(Path local) throws IOException {
    try (Stream<Path> all = Files.list(local)) {
      return all.count();
    }
  }

  private static long threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("alluvium-"))
        .count();
  }

  /** Of RocksDB's native side, which keeps several for each database until it is closed. */
  private static long openFiles(Path local) throws IOException {
    long count = 0;
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      for (Path descriptor : all.toList()) {
        try {
          count += Files.readSymbolicLink(descriptor).startsWith(local) ? 1 : 0;
        } catch (NoSuchFileException e) {
          // Closed meanwhile.
        }
      }
    }
    return count;
  }

  private static void awaitCount(String what, Callable<Long> count, long expected)
      throws Exception {
    try {
      Eventually.that(() -> count.call() == expected);
    } catch (AssertionError e) {
      throw new AssertionError(what + ": " + count.call() + " instead of " + expected, e);
    }
  }
}
