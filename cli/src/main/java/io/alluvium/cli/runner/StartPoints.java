package io.alluvium.cli.runner;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointInspector;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.cli.input.Fingerprint;
import io.alluvium.cli.input.InputFile;
import io.alluvium.cli.input.InputFiles;
import io.alluvium.cli.input.JobException;
import io.alluvium.cli.input.Position;
import io.alluvium.cli.input.Split;
import io.alluvium.cli.input.SplitPlanner;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Decides where a run begins, and refuses one that cannot begin: before the job is taken over, so
 * that a process that runs it goes on, and again after, since that process may have stored more.
 * Confined to one thread.
 */
final class StartPoints {

  private static final int DEFAULT_MAX_PARALLELISM = 128;

  private final RunSettings settings;
  private final List<InputFile> files;
  private final StateBackend backend;

  /** What the input was found to be; it is long to read. */
  private List<Fingerprint> unchangedSince = List.of();

  private Optional<Beginning> planned = Optional.empty();

  StartPoints(RunSettings settings, List<InputFile> files, StateBackend backend) {
    this.settings = settings;
    this.files = files;
    this.backend = backend;
  }

  /** Throws what {@link #choose} would throw after the takeover; nothing is written. */
  void check() {
    if (settings.start() == RunSettings.StartMode.FRESH) {
      Beginning unused = planned();
      return;
    }
    Optional<List<CheckpointInspector.Entry>> stored = newestStored();
    if (stored.isEmpty()) {
      return;
    }
    if (stored.get().isEmpty()) {
      checkNoOutput();
      Beginning unused = planned();
      return;
    }
    // Damage above it is refused by the takeover before it writes, or passed over.
    for (CheckpointInspector.Entry entry : stored.get()) {
      Optional<Checkpoint> newest = entry.checkpoint();
      if (newest.isPresent() && newest.get().job().equals(settings.jobName())) {
        JobMetadata unused = checkSame(newest.get());
      }
    }
  }

  /** Empty while storage is away: the takeover is patient with it and tells. */
  private Optional<List<CheckpointInspector.Entry>> newestStored() {
    try {
      return Optional.of(backend.inspector().newest());
    } catch (StateBackendException e) {
      if (e.kind() == StateBackendException.Kind.UNAVAILABLE) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /**
   * The point to start at.
   *
   * @param newest what the takeover gave
   */
  StartPoint choose(Optional<Checkpoint> newest) {
    if (settings.start() == RunSettings.StartMode.FRESH) {
      return beginning();
    }
    if (newest.isEmpty()) {
      checkNoOutput();
      return beginning();
    }
    return resume(newest.get());
  }

  private void checkNoOutput() {
    Set<String> visible = FileSink.visibleFiles(settings.output());
    if (!visible.isEmpty()) {
      throw new JobException(
          "the output directory '"
              + settings.output()
              + "' holds output ("
              + visible.iterator().next()
              + ") but there is no checkpoint to resume from in '"
              + settings.backend().get("state.checkpoints.dir")
              + "'; choose another --output, or remove it with --fresh");
    }
  }

  /** The point that a checkpoint stands for, checked against what was asked for. */
  StartPoint resume(Checkpoint checkpoint) {
    JobMetadata metadata = checkSame(checkpoint);
    return new StartPoint(
        metadata,
        Optional.of(checkpoint),
        backend.catalog().restoreMode(),
        greatestCheckpoint(checkpoint.id()) + 1);
  }

  /** Checks what was asked for against what the job was started with. */
  private JobMetadata checkSame(Checkpoint checkpoint) {
    JobMetadata metadata = JobMetadataFormat.read(checkpoint.metadata(), checkpoint.id());
    if (!metadata.kind().equals(settings.job().kind())) {
      throw new JobException(
          "the job '"
              + settings.jobName()
              + "' is a "
              + metadata.kind()
              + ", not a "
              + settings.job().kind()
              + "; choose another --job-name and state.checkpoints.dir, or start over with --fresh");
    }
    checkParameters(metadata.parameters(), settings.job().parameters());
    int maxParallelism = settings.maxParallelism().orElse(metadata.maxParallelism());
    if (maxParallelism != metadata.maxParallelism()) {
      throw new JobException(
          "--max-parallelism is fixed at the first start: this job has "
              + metadata.maxParallelism()
              + ", not "
              + maxParallelism
              + "; give the same, or start over with --fresh");
    }
    checkParallelism(maxParallelism);
    if (!metadata.files().equals(unchangedSince)) {
      InputFiles.checkUnchanged(files, metadata.files());
      unchangedSince = metadata.files();
    }
    return metadata;
  }

  private void checkParameters(Map<String, String> before, Map<String, String> now) {
    for (String name : new TreeMap<>(now).keySet()) {
      if (!String.valueOf(now.get(name)).equals(before.get(name))) {
        throw new JobException(
            "the job started with "
                + name
                + " "
                + before.get(name)
                + ", not "
                + now.get(name)
                + "; give the same, or start over with --fresh");
      }
    }
  }

  private void checkParallelism(int maxParallelism) {
    if (settings.parallelism() > maxParallelism) {
      throw JobException.usage(
          "--parallelism "
              + settings.parallelism()
              + " is more than --max-parallelism "
              + maxParallelism
              + "; lower the one, or raise the other before the first start");
    }
  }

  /** What a job that starts at the beginning of its input reads. Immutable. */
  private record Beginning(int maxParallelism, List<Fingerprint> files, List<Split> splits) {}

  /** Worked out once: input that cannot be read is told before anything durable is touched. */
  private Beginning planned() {
    if (planned.isEmpty()) {
      int maxParallelism = settings.maxParallelism().orElse(DEFAULT_MAX_PARALLELISM);
      checkParallelism(maxParallelism);
      planned =
          Optional.of(
              new Beginning(
                  maxParallelism,
                  files.stream().map(InputFiles::fingerprint).toList(),
                  SplitPlanner.plan(
                      files,
                      settings.job().format(),
                      files.stream().map(file -> settings.job().headerBytes(file)).toList())));
    }
    return planned.get();
  }

  private StartPoint beginning() {
    Beginning plan = planned();
    long first = greatestCheckpoint(0) + 1;
    JobMetadata metadata =
        new JobMetadata(
            JobMetadata.FORMAT,
            settings.job().kind(),
            settings.job().parameters(),
            plan.maxParallelism(),
            plan.files(),
            plan.splits(),
            plan.splits().stream().map(Position::startOf).toList(),
            first,
            List.of(),
            Map.of(),
            List.of(),
            false);
    return new StartPoint(metadata, Optional.empty(), RestoreMode.REUSE, first);
  }

  /** Ids are never used again, not even those of output whose checkpoint is gone or damaged. */
  private long greatestCheckpoint(long atLeast) {
    long stored = backend.catalog().greatestCheckpointId().orElse(0);
    return Math.max(Math.max(atLeast, stored), FileSink.greatestCheckpoint(settings.output()));
  }

  /** Whether a checkpoint is that of a finished job whose output was removed since. */
  boolean outputIsGone(Checkpoint checkpoint) {
    JobMetadata metadata = JobMetadataFormat.read(checkpoint.metadata(), checkpoint.id());
    boolean gone =
        metadata.finished()
            && !FileSink.allRecoverable(
                settings.output(), metadata.outputs(), metadata.transactions());
    if (gone) {
      // What was asked for must be this job, or nothing is started over.
      JobMetadata unused = checkSame(checkpoint);
    }
    return gone;
  }
}
