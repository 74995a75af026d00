package io.alluvium.flink.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.flink.AlluviumOptions;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.apache.flink.changelog.fs.FsStateChangelogOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.StateChangelogOptions;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.metrics.Counter;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.changelog.ChangelogStateBackendHandle;
import org.apache.flink.runtime.testutils.InMemoryReporter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Alluvium as the backend below Flink's own changelog, which is turned on and off; the job fails
 * and is rescaled in between.
 */
final class FlinkChangelogTest {

  private static final int MATERIALIZATIONS = 2;

  /** A phase of the job: its parallelism, and whether Flink's changelog is on. */
  private record Phase(int parallelism, boolean wrapped) {}

  @TempDir Path directory;

  @Test
  void job_belowFlinksChangelogInMemory_isExactAndWarns() throws Exception {
    play("memory", List.of(new Phase(2, false), new Phase(3, true), new Phase(1, false)));
  }

  @Test
  void job_belowFlinksChangelogInFiles_isExactAndWarns() throws Exception {
    play("filesystem", List.of(new Phase(2, true), new Phase(3, true), new Phase(1, true)));
  }

  /** Each phase fails, and the next one goes on from its last checkpoint. */
  private void play(String storage, List<Phase> phases) throws Exception {
    Random random = new Random(storage.hashCode());
    Traffic traffic = new Traffic(random.nextLong(), 6, 6000, 40);
    InMemoryReporter reporter = InMemoryReporter.createWithRetainedMetrics();
    String name = "changelog-" + storage;
    JobRun run = JobRun.start(name);
    PrintStream console = System.err;
    ByteArrayOutputStream log = new ByteArrayOutputStream();
    try (Cluster cluster = new Cluster(reporter.addToConfiguration(cluster(storage)));
        PrintStream captured = new PrintStream(log, true, StandardCharsets.UTF_8)) {
      System.setErr(captured);
      SavepointRestoreSettings from = SavepointRestoreSettings.none();
      for (Phase phase : phases) {
        log.reset();
        Configuration configuration = job(random, phase.wrapped());
        JobPhase job =
            JobPhase.begin(
                cluster,
                run,
                RescaledJob.graph(Job.TIMERS, traffic, configuration, phase.parallelism(), name),
                from);
        job.fail(random);
        if (phase.wrapped()) {
          awaitMaterializations(job, reporter);
        }
        assertThat(warnings(log)).isEqualTo(phase.wrapped() ? 1 : 0);
        if (phase.equals(phases.get(phases.size() - 1))) {
          job.finish();
        } else {
          String checkpoint = job.cancel();
          assertThat(isBelowFlinksChangelog(checkpoint)).isEqualTo(phase.wrapped());
          from = SavepointRestoreSettings.forPath(checkpoint, false, RecoveryClaimMode.CLAIM);
        }
      }
      assertThat(run.lines()).isEqualTo(Job.TIMERS.expected(traffic));
    } finally {
      System.setErr(console);
      JobRun.end(name);
    }
  }

  private Configuration cluster(String storage) {
    Configuration configuration = new Configuration();
    // The storage is of a TaskManager and not of a job.
    configuration.set(StateChangelogOptions.STATE_CHANGE_LOG_STORAGE, storage);
    configuration.set(
        FsStateChangelogOptions.BASE_PATH, directory.resolve("changelog").toUri().toString());
    return configuration;
  }

  private Configuration job(Random random, boolean wrapped) {
    Configuration configuration =
        Scenario.aligned(
            Scenario.configuration(random, directory.resolve("checkpoints").toUri().toString()));
    configuration.set(StateChangelogOptions.ENABLE_STATE_CHANGE_LOG, wrapped);
    configuration.set(
        StateChangelogOptions.PERIODIC_MATERIALIZATION_INTERVAL, Duration.ofMillis(100));
    configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofMillis(150));
    return configuration;
  }

  /** Until Flink's changelog has materialized and checkpoints hold that. */
  private static void awaitMaterializations(JobPhase job, InMemoryReporter reporter)
      throws Exception {
    long before = materializations(job, reporter);
    job.until(() -> materializations(job, reporter) >= before + MATERIALIZATIONS);
    job.untilCheckpoints();
  }

  private static long materializations(JobPhase job, InMemoryReporter reporter) {
    return reporter.findJobMetricGroups(job.id(), ".*completedMaterialization").stream()
        .mapToLong(found -> ((Counter) found.f2).getCount())
        .sum();
  }

  private static long warnings(ByteArrayOutputStream log) {
    return log.toString(StandardCharsets.UTF_8)
        .lines()
        .filter(line -> line.contains("puts Flink's own changelog on top of Alluvium"))
        .count();
  }

  /**
   * Whether the keyed state of a checkpoint is that of Flink's changelog and of a materialization
   * below it, which is Alluvium's.
   */
  private static boolean isBelowFlinksChangelog(String checkpoint) throws IOException {
    List<KeyedStateHandle> handles = JobPhase.keyedState(checkpoint);
    assertThat(handles).isNotEmpty();
    if (handles.stream().noneMatch(ChangelogStateBackendHandle.class::isInstance)) {
      assertThat(handles).hasOnlyElementsOfType(IncrementalRemoteKeyedStateHandle.class);
      return false;
    }
    assertThat(handles).hasOnlyElementsOfType(ChangelogStateBackendHandle.class);
    assertThat(handles)
        .flatExtracting(
            handle -> ((ChangelogStateBackendHandle) handle).getMaterializedStateHandles())
        .isNotEmpty()
        .hasOnlyElementsOfType(IncrementalRemoteKeyedStateHandle.class);
    return true;
  }
}
