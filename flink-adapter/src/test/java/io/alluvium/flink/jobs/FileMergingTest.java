package io.alluvium.flink.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.flink.AlluviumOptions;
import io.alluvium.flink.Eventually;
import io.alluvium.flink.StoredFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.filemerging.SegmentFileStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Jobs whose checkpoints Flink merges into fewer files. */
final class FileMergingTest {

  private static final String NAME = "merged";

  private enum Merging {
    OFF,
    WITHIN,
    ACROSS
  }

  /** A phase of the job: how it runs, and how it takes over the last one's checkpoint. */
  private record Phase(
      int parallelism, Merging merging, boolean changelog, RecoveryClaimMode from) {}

  @TempDir Path directory;

  @Test
  void job_failedAndRescaledOnFilesMergedWithinCheckpoints_isExact() throws Exception {
    play(
        1,
        List.of(
            new Phase(3, Merging.WITHIN, false, RecoveryClaimMode.CLAIM),
            new Phase(4, Merging.WITHIN, true, RecoveryClaimMode.CLAIM),
            new Phase(1, Merging.OFF, true, RecoveryClaimMode.NO_CLAIM)));
  }

  @Test
  void job_failedAndRescaledOnFilesMergedAcrossCheckpoints_isExact() throws Exception {
    play(
        2,
        List.of(
            new Phase(3, Merging.ACROSS, true, RecoveryClaimMode.CLAIM),
            new Phase(2, Merging.ACROSS, true, RecoveryClaimMode.CLAIM),
            new Phase(2, Merging.ACROSS, false, RecoveryClaimMode.NO_CLAIM)));
  }

  /** Each phase fails, and the next one goes on from its last checkpoint. */
  private void play(long seed, List<Phase> phases) throws Exception {
    Random random = new Random(seed);
    Traffic traffic = new Traffic(random.nextLong(), 6, 6000, 40);
    JobRun run = JobRun.start(NAME);
    try (Cluster cluster = new Cluster(new Configuration())) {
      SavepointRestoreSettings from = SavepointRestoreSettings.none();
      for (Phase phase : phases) {
        JobPhase job =
            JobPhase.begin(
                cluster,
                run,
                RescaledJob.graph(
                    Job.TIMERS, traffic, configuration(random, phase), phase.parallelism(), NAME),
                from);
        job.fail(random);
        int next = phases.indexOf(phase) + 1;
        if (next == phases.size()) {
          job.finish();
        } else {
          String checkpoint = job.cancel();
          checkMerged(JobPhase.keyedState(checkpoint), phase.merging());
          from = SavepointRestoreSettings.forPath(checkpoint, false, phases.get(next).from());
        }
      }
      assertThat(run.lines()).isEqualTo(Job.TIMERS.expected(traffic));
    } finally {
      JobRun.end(NAME);
    }
  }

  private Configuration configuration(Random random, Phase phase) {
    Configuration configuration =
        Scenario.aligned(Scenario.configuration(random, directory.toUri().toString()));
    configuration.set(AlluviumOptions.TABLE, "rocksdb");
    configuration.set(AlluviumOptions.CHANGELOG_ENABLED, phase.changelog());
    configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofMillis(100));
    configuration.set(CheckpointingOptions.FILE_MERGING_ENABLED, phase.merging() != Merging.OFF);
    configuration.set(
        CheckpointingOptions.FILE_MERGING_ACROSS_BOUNDARY, phase.merging() == Merging.ACROSS);
    // Who writes at the same time waits for the file; with more subtasks than TaskManagers, some
    // share it.
    configuration.set(
        CheckpointingOptions.FILE_MERGING_POOL_BLOCKING, phase.merging() == Merging.WITHIN);
    configuration.set(CheckpointingOptions.FILE_MERGING_MAX_SPACE_AMPLIFICATION, 1.5f);
    return configuration;
  }

  /**
   * A file holds more than one part: of a checkpoint, or of several. Across checkpoints, whoever
   * writes at the same time as others takes a file of his own, but goes on in it the next time.
   */
  private static void checkMerged(List<KeyedStateHandle> keyedState, Merging merging) {
    List<SegmentFileStateHandle> segments =
        keyedState.stream()
            .flatMap(handle -> ((IncrementalRemoteKeyedStateHandle) handle).streamSubHandles())
            .filter(SegmentFileStateHandle.class::isInstance)
            .map(SegmentFileStateHandle.class::cast)
            .toList();
    assertThat(segments).isNotEmpty();
    if (merging == Merging.WITHIN) {
      assertThat(segments.stream().map(SegmentFileStateHandle::getFilePath).distinct())
          .hasSizeLessThan(segments.size());
    } else {
      assertThat(segments).anyMatch(segment -> segment.getStartPos() > 0);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Merging.class,
      names = {"WITHIN", "ACROSS"})
  void job_finished_leavesNoFile(Merging merging) throws Exception {
    Traffic traffic = new Traffic(5, 6, 2000, 40);
    JobRun run = JobRun.start(NAME);
    try (Cluster cluster = new Cluster(new Configuration())) {
      Configuration configuration =
          configuration(new Random(3), new Phase(2, merging, true, RecoveryClaimMode.CLAIM));
      JobPhase job =
          JobPhase.begin(
              cluster,
              run,
              RescaledJob.graph(Job.TIMERS, traffic, configuration, 2, NAME),
              SavepointRestoreSettings.none());
      job.untilCheckpoints();
      job.finish();
      assertThat(run.lines()).isEqualTo(Job.TIMERS.expected(traffic));
    } finally {
      JobRun.end(NAME);
    }
    // Some go in the background, which neither the job's end nor the cluster's waits for.
    Eventually.that(() -> StoredFiles.below(directory).isEmpty());
  }

  /** Tables of the old run are not stored again; its files are deleted all the same. */
  @Test
  void mergingTurnedOn_underClaim_leavesNoOldFile() throws Exception {
    Traffic traffic = new Traffic(5, 6, 2000, 40);
    JobRun run = JobRun.start(NAME);
    List<Path> old;
    try (Cluster cluster = new Cluster(new Configuration())) {
      JobPhase before = begin(cluster, run, traffic, Merging.OFF, SavepointRestoreSettings.none());
      before.untilCheckpoints();
      String checkpoint = before.cancel();
      old = files(JobPhase.keyedState(checkpoint));
      assertThat(old).isNotEmpty().allMatch(Files::exists);
      JobPhase after =
          begin(
              cluster,
              run,
              traffic,
              Merging.WITHIN,
              SavepointRestoreSettings.forPath(checkpoint, false, RecoveryClaimMode.CLAIM));
      after.untilCheckpoints();
      after.finish();
      assertThat(run.lines()).isEqualTo(Job.TIMERS.expected(traffic));
    } finally {
      JobRun.end(NAME);
    }
    // Of what the old run wrote for a checkpoint that its end cut off, Flink knows nothing.
    Eventually.that(() -> old.stream().noneMatch(Files::exists));
  }

  private JobPhase begin(
      Cluster cluster, JobRun run, Traffic traffic, Merging merging, SavepointRestoreSettings from)
      throws Exception {
    Configuration configuration =
        configuration(new Random(3), new Phase(2, merging, true, RecoveryClaimMode.CLAIM));
    // Small files stay out of the metadata.
    configuration.set(CheckpointingOptions.FS_SMALL_FILE_THRESHOLD, MemorySize.ZERO);
    return JobPhase.begin(
        cluster, run, RescaledJob.graph(Job.TIMERS, traffic, configuration, 2, NAME), from);
  }

  private static List<Path> files(List<KeyedStateHandle> keyedState) {
    return keyedState.stream()
        .flatMap(handle -> ((IncrementalRemoteKeyedStateHandle) handle).streamSubHandles())
        .filter(FileStateHandle.class::isInstance)
        .map(handle -> Path.of(((FileStateHandle) handle).getFilePath().toUri()))
        .toList();
  }
}
