package io.alluvium.cli.runner;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreReport;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.cli.input.InputFile;
import io.alluvium.cli.input.InputFiles;
import io.alluvium.cli.input.JobException;
import io.alluvium.config.CoreOptions;
import io.alluvium.serializer.Serializers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Runs a job from where it stands to its end. Confined to the calling thread, which coordinates the
 * checkpoints.
 *
 * <p>The order matters: what was asked for is checked first, so that a mistake ends no process that
 * runs the job. Then the job is taken over, then its output is brought to what the restored
 * checkpoint says, then the job goes on. At the end the last checkpoint is confirmed before the
 * results are written, so that a crash between the two finds a finished job and writes them then.
 */
public final class JobRunner {

  private final RunSettings settings;
  private final RunListener listener;
  private final MemoryMetrics metrics = new MemoryMetrics();
  private final List<InputFile> files;
  private final Optional<ResultFile.Seen> earlierResult;

  private JobRunner(RunSettings settings, RunListener listener, List<InputFile> files) {
    this.settings = settings;
    this.listener = listener;
    this.files = files;
    this.earlierResult =
        settings.job().resultFile().flatMap(name -> ResultFile.look(settings.output(), name));
  }

  /** What a run came to. Immutable. */
  public record Outcome(RunSummary summary, Map<String, Long> counters, List<Path> results) {}

  /** Runs a job to its end. */
  public static Outcome run(RunSettings settings, RunListener listener) {
    List<InputFile> files = InputFiles.find(settings.inputs(), settings.output());
    // Columns that a file lacks are found before anything is written.
    files.forEach(file -> settings.job().parserOf(file));
    try {
      return new JobRunner(settings, listener, files)
          .run()
          .orElseGet(
              () ->
                  // Only the input can bring the output back.
                  new JobRunner(settings.startingOver(), listener, files).run().orElseThrow());
    } catch (StateBackendException e) {
      if (e.kind() != StateBackendException.Kind.FENCED) {
        throw e;
      }
      throw new JobException(
          "another process has taken over the job '"
              + settings.jobName()
              + "'; this one has stopped and left everything stored as it is; see that only one"
              + " runs, then run the same command again if the job is to go on here",
          e);
    }
  }

  /** Empty when the job is finished and output of it is gone. */
  private Optional<Outcome> run() {
    OutputDirectory.claim(settings.output(), settings.jobName());
    try (StateBackend backend = Backends.open(settings.backend(), metrics)) {
      StartPoints points = new StartPoints(settings, files, backend);
      points.check();
      Optional<Checkpoint> newest = takeOver(backend);
      if (newest.isPresent() && points.outputIsGone(newest.get())) {
        listener.started("output of the finished job is gone: computing it again from the input");
        return Optional.empty();
      }
      StartPoint start = points.choose(newest);
      long restoreStart = System.nanoTime();
      Restored restored = restore(backend, points, start);
      Optional<RestoreRow> row = report(restored, restoreStart);
      return Optional.of(execute(backend, restored, row));
    }
  }

  private Optional<Checkpoint> takeOver(StateBackend backend) {
    if (settings.start() == RunSettings.StartMode.FRESH) {
      backend.catalog().startOver(settings.jobName());
      return Optional.empty();
    }
    try {
      return backend.catalog().takeOver(settings.jobName());
    } catch (StateBackendException e) {
      if (e.kind() == StateBackendException.Kind.CORRUPT
          && e.getCause() instanceof StateBackendException damage) {
        throw new JobException(damage.getMessage() + damageRemedy(backend), e);
      }
      throw e;
    }
  }

  private static String damageRemedy(StateBackend backend) {
    return backend.configuration().get(CoreOptions.RESTORE_FALLBACK)
        ? ", and there is no older checkpoint; put a sound copy back, or start over with --fresh"
        : "; put a sound copy back, resume from an older checkpoint, if there is one, with --set"
            + " alluvium.restore.fallback=true, or start over with --fresh";
  }

  /** The backends of all subtasks, and where they start. Immutable. */
  private record Restored(StartPoint start, List<KeyedBackend<String>> backends) {}

  private Restored restore(StateBackend backend, StartPoints points, StartPoint first) {
    StartPoint start = first;
    while (true) {
      try {
        return new Restored(start, openAll(backend, start));
      } catch (StateBackendException e) {
        Optional<Checkpoint> damaged = start.checkpoint();
        if (e.kind() != StateBackendException.Kind.CORRUPT || damaged.isEmpty()) {
          throw e;
        }
        Checkpoint older =
            backend
                .catalog()
                .fallbackFrom(damaged.get())
                .orElseThrow(() -> new JobException(e.getMessage() + damageRemedy(backend), e));
        listener.started(
            "checkpoint "
                + damaged.get().id()
                + " is damaged ("
                + e.getMessage()
                + "); falling back to checkpoint "
                + older.id()
                + ": output that was committed after it is written twice");
        start = points.resume(older);
      }
    }
  }

  /** Opens and restores all subtasks at the same time. */
  private List<KeyedBackend<String>> openAll(StateBackend backend, StartPoint start) {
    int maxParallelism = start.metadata().maxParallelism();
    List<CheckpointHandle> handles = start.checkpoint().map(Checkpoint::handles).orElse(List.of());
    ExecutorService threads = Executors.newFixedThreadPool(settings.parallelism());
    try {
      List<CompletableFuture<KeyedBackend<String>>> opening = new ArrayList<>();
      for (int i = 0; i < settings.parallelism(); i++) {
        KeyGroupRange range = KeyGroupRange.ofSubtask(maxParallelism, settings.parallelism(), i);
        opening.add(
            CompletableFuture.supplyAsync(
                () ->
                    backend.keyed(
                        Serializers.string(), maxParallelism, range, handles, start.mode()),
                threads));
      }
      return joinAll(opening);
    } finally {
      threads.shutdown();
    }
  }

  private static List<KeyedBackend<String>> joinAll(
      List<CompletableFuture<KeyedBackend<String>>> opening) {
    List<KeyedBackend<String>> opened = new ArrayList<>();
    RuntimeException failure = null;
    for (CompletableFuture<KeyedBackend<String>> future : opening) {
      try {
        opened.add(future.join());
      } catch (CompletionException e) {
        RuntimeException cause = e.getCause() instanceof RuntimeException known ? known : e;
        if (failure == null) {
          failure = cause;
        } else {
          failure.addSuppressed(cause);
        }
      }
    }
    if (failure != null) {
      opened.forEach(KeyedBackend::close);
      throw failure;
    }
    return opened;
  }

  private Optional<RestoreRow> report(Restored restored, long startNanos) {
    long millis = (System.nanoTime() - startNanos) / 1_000_000;
    if (restored.start().checkpoint().isEmpty()) {
      listener.started("starting at the beginning of the input");
      return Optional.empty();
    }
    long id = restored.start().checkpoint().get().id();
    RestoreRow row = new RestoreRow(id, 0, 0, 0, 0, 0, millis);
    for (KeyedBackend<String> backend : restored.backends()) {
      RestoreReport report = backend.restoreReport();
      row =
          new RestoreRow(
              id,
              row.filesLinked() + report.filesLinked(),
              row.filesDownloaded() + report.filesDownloaded(),
              row.blocksRead() + report.blocksRead(),
              row.bytesDownloaded() + report.bytesDownloaded(),
              row.changesReplayed() + report.changesReplayed(),
              millis);
    }
    listener.restored(row);
    return Optional.of(row);
  }

  private Outcome execute(StateBackend backend, Restored restored, Optional<RestoreRow> row) {
    CheckpointCatalog catalog = backend.catalog();
    StartPoint start = restored.start();
    CheckpointMeter meter =
        new CheckpointMeter(
            backend.configuration().get(CoreOptions.CHANGELOG_ENABLED)
                ? CheckpointMeter.ChangelogMode.ENABLED
                : CheckpointMeter.ChangelogMode.DISABLED);
    long began = System.nanoTime();
    try (FileSink sink = new FileSink(settings.output(), catalog.incarnation())) {
      if (!start.atBeginning()) {
        recover(sink, start, backend);
      }
      Coordinator coordinator;
      List<SortedRuns> results;
      long records;
      StorageWatch storage =
          new StorageWatch(
              metrics,
              directory(),
              Backends.outages(settings.backend(), settings.tolerated()),
              listener);
      try (JobExecution execution =
          new JobExecution(
              settings,
              start,
              files,
              restored.backends(),
              sink,
              new JobExecution.Observers(listener, storage))) {
        coordinator =
            new Coordinator(
                new Coordinator.Parts(
                    catalog,
                    restored.backends(),
                    sink,
                    execution.control(),
                    execution,
                    storage,
                    meter,
                    listener,
                    execution.sourceCount()),
                start);
        results = execution.run(coordinator, () -> replaceEarlierLife(sink, start, backend));
        records = execution.control().records();
      }
      double seconds = (System.nanoTime() - began) / 1e9;
      List<Path> resultFiles = writeResults(results, sink);
      // Closed first: what a background materialization still stores would be left behind.
      restored.backends().forEach(KeyedBackend::close);
      collectGarbage(catalog);
      return new Outcome(
          summary(records, row, coordinator.statistics(), seconds),
          coordinator.metadata().counters(),
          resultFiles);
    }
  }

  /** The job is done and its results are there: what storage refuses now is no failure of it. */
  private void collectGarbage(CheckpointCatalog catalog) {
    try {
      catalog.collectGarbage();
    } catch (StateBackendException e) {
      if (e.kind() == StateBackendException.Kind.FENCED) {
        throw e;
      }
      listener.storage(
          "what no checkpoint needs was left in storage ("
              + e.getMessage()
              + "); 'alluvium checkpoints gc' deletes it");
    }
  }

  /**
   * A checkpoint is confirmed: what an earlier life of the job left goes. Not before, and not what
   * was written since: who was suspended might delete the result of its successor.
   */
  private void replaceEarlierLife(FileSink sink, StartPoint start, StateBackend backend) {
    earlierResult.ifPresent(
        seen ->
            ResultFile.delete(settings.output(), settings.job().resultFile().orElseThrow(), seen));
    if (start.atBeginning()) {
      recover(sink, start, backend);
    }
  }

  /** Ends what the checkpoint that the job starts from had begun. */
  private void recover(FileSink sink, StartPoint start, StateBackend backend) {
    sink.recover(
        start.metadata().firstCheckpoint(),
        start.metadata().transactions(),
        backend.catalog()::isOlder);
  }

  private String directory() {
    return String.valueOf(settings.backend().get(CoreOptions.CHECKPOINT_DIRECTORY.key()));
  }

  private List<Path> writeResults(List<SortedRuns> rows, FileSink sink) {
    Optional<String> name = settings.job().resultFile();
    if (name.isEmpty()) {
      return List.of();
    }
    return List.of(ResultFile.write(settings.output(), name.get(), rows, sink));
  }

  private RunSummary summary(
      long records, Optional<RestoreRow> row, RunStatistics statistics, double seconds) {
    return new RunSummary(
        records,
        row.map(RestoreRow::checkpoint).orElse(null),
        row.map(RestoreRow::changesReplayed).orElse(0L),
        row.map(RestoreRow::millis).orElse(0L),
        statistics.checkpoints(),
        new RunSummary.Materializations(
            metrics.count("materialization.completed.count"),
            metrics.count("materialization.failed.count")),
        RequestCounts.of(metrics, statistics.checkpoints().completed()),
        Math.round(records / seconds * 10) / 10.0);
  }
}
