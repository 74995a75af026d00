package io.alluvium.cli.runner;

import io.alluvium.KeyedBackend;
import io.alluvium.StateBackendException;
import io.alluvium.cli.input.InputFile;
import io.alluvium.cli.input.Split;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The threads of a running job: sources, subtasks, and the coordinator, which is the thread that
 * calls {@link #run}. Confined to that thread.
 */
final class JobExecution implements Coordinator.Waiter, AutoCloseable {

  private static final long TICK_MILLIS = 100;
  private static final long PAUSE_MILLIS = 500;
  private static final long POLITE_STOP_MILLIS = 2_000;
  private static final long STOP_MILLIS = 60_000;

  /** Of final results, until they go to temporary files. */
  private static final long MAX_ROW_BYTES = 64 << 20;

  private final RunSettings settings;
  private final StartPoint start;
  private final FileSink sink;
  private final RunListener listener;
  private final StorageWatch storage;
  private final JobControl control = new JobControl();
  private final List<SourceTask> sources = new ArrayList<>();
  private final List<SubtaskTask> subtasks = new ArrayList<>();
  private final List<Inbox> inboxes = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();
  private final long bytesBefore;
  private final long bytesTotal;

  /** Who follows the job. Immutable. */
  record Observers(RunListener listener, StorageWatch storage) {}

  JobExecution(
      RunSettings settings,
      StartPoint start,
      List<InputFile> files,
      List<KeyedBackend<String>> backends,
      FileSink sink,
      Observers observers) {
    this.settings = settings;
    this.start = start;
    this.sink = sink;
    this.listener = observers.listener();
    this.storage = observers.storage();
    JobMetadata metadata = start.metadata();
    bytesTotal = metadata.splits().stream().mapToLong(split -> split.end() - split.start()).sum();
    long before = 0;
    for (int i = 0; i < metadata.splits().size(); i++) {
      before += metadata.positions().get(i).offset() - metadata.splits().get(i).start();
    }
    bytesBefore = before;
    makeTasks(files, backends);
  }

  private void makeTasks(List<InputFile> files, List<KeyedBackend<String>> backends) {
    JobMetadata metadata = start.metadata();
    List<Split> splits = metadata.splits();
    int sourceCount = Math.max(1, Math.min(settings.parallelism(), splits.size()));
    long watermark = metadata.watermark(settings.job().latenessMillis());
    for (int i = 0; i < backends.size(); i++) {
      // One more channel than sources, for the coordinator.
      Inbox inbox = new Inbox(sourceCount + 1);
      inboxes.add(inbox);
      subtasks.add(
          new SubtaskTask(
              i,
              sourceCount,
              new SubtaskTask.Parts(
                  settings.job(),
                  backends.get(i),
                  sink.writer(i),
                  inbox,
                  sink.rows(i, MAX_ROW_BYTES / backends.size()),
                  control,
                  watermark)));
    }
    SourceTask.Shared shared =
        new SourceTask.Shared(
            settings.job(),
            files,
            splits,
            metadata.maxParallelism(),
            inboxes,
            control,
            settings.recordsPerSecond().map(rate -> new Pace(rate, System.nanoTime())),
            settings.badRecords());
    for (int i = 0; i < sourceCount; i++) {
      sources.add(new SourceTask(i, sourceCount, shared, metadata.positions()));
    }
  }

  int sourceCount() {
    return sources.size();
  }

  JobControl control() {
    return control;
  }

  /**
   * Runs the job to its end.
   *
   * @param afterFirst done when the first checkpoint before the last one is confirmed, and the job
   *     so this process's
   * @return the final results
   */
  List<SortedRuns> run(Coordinator coordinator, Runnable afterFirst) {
    for (int i = 0; i < subtasks.size(); i++) {
      startThread("alluvium-subtask-" + i, subtasks.get(i));
    }
    if (!start.metadata().finished()) {
      readInput(coordinator, afterFirst);
    }
    List<SortedRuns> results = new ArrayList<>();
    try {
      for (Inbox inbox : inboxes) {
        inbox.put(sources.size(), new Message.Finish());
      }
    } catch (InterruptedException e) {
      throw interrupted();
    }
    for (SubtaskTask subtask : subtasks) {
      results.add(await(subtask.results()));
    }
    return results;
  }

  private void readInput(Coordinator coordinator, Runnable afterFirst) {
    for (int i = 0; i < sources.size(); i++) {
      startThread("alluvium-source-" + i, sources.get(i));
    }
    CompletableFuture<Void> exhausted =
        CompletableFuture.allOf(
            sources.stream().map(SourceTask::exhausted).toArray(CompletableFuture<?>[]::new));
    boolean confirmed = start.atBeginning();
    if (confirmed) {
      coordinator.takeCheckpointForSure();
      afterFirst.run();
    }
    long interval = settings.checkpointInterval().toNanos();
    long next = System.nanoTime() + interval;
    while (!exhausted.isDone()) {
      long rest = next - System.nanoTime();
      if (rest <= 0) {
        if (coordinator.takeCheckpoint() && !confirmed) {
          confirmed = true;
          afterFirst.run();
        }
        // A slow checkpoint delays the following ones, it does not make them pile up.
        next = Math.max(next + interval, System.nanoTime());
      } else {
        waitFor(exhausted, Math.min(rest, TimeUnit.MILLISECONDS.toNanos(TICK_MILLIS)));
      }
    }
    coordinator.takeLastCheckpoint(FileSink.visibleFiles(settings.output()));
  }

  @Override
  public <T> T await(CompletableFuture<T> future) {
    while (!future.isDone()) {
      waitFor(future, TimeUnit.MILLISECONDS.toNanos(TICK_MILLIS));
    }
    return result(future);
  }

  @Override
  public void awaitBarrier(PendingCheckpoint checkpoint) {
    CompletableFuture<Void> answered = checkpoint.answered();
    storage.reset();
    while (!answered.isDone()) {
      storage.check(System.nanoTime());
      waitFor(answered, TimeUnit.MILLISECONDS.toNanos(TICK_MILLIS));
    }
  }

  @Override
  public void pause() {
    waitFor(new CompletableFuture<>(), TimeUnit.MILLISECONDS.toNanos(PAUSE_MILLIS));
  }

  /** Waits for a while, throws what a thread of the job failed with, and tells the progress. */
  private void waitFor(CompletableFuture<?> future, long nanos) {
    try {
      Object unused =
          CompletableFuture.anyOf(future, control.failure()).get(nanos, TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      // Nothing happened: time to tell how far the job is.
    } catch (ExecutionException e) {
      if (control.failure().isCompletedExceptionally()) {
        Object unused = result(control.failure());
      }
    } catch (InterruptedException e) {
      throw interrupted();
    }
    listener.progress(control.records(), bytesBefore + control.bytes(), bytesTotal);
  }

  private static <T> T result(CompletableFuture<T> future) {
    try {
      return future.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      if (e.getCause() instanceof Error cause) {
        throw cause;
      }
      throw e;
    }
  }

  private static StateBackendException interrupted() {
    Thread.currentThread().interrupt();
    return StateBackendException.of(
        StateBackendException.Kind.UNAVAILABLE, "the job was interrupted");
  }

  private void startThread(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    threads.add(thread);
    thread.start();
  }

  /** Ends all threads; when this returns none of them touches a backend any more. */
  @Override
  public void close() {
    control.stop();
    long start = System.nanoTime();
    boolean interrupted = false;
    for (Thread thread : threads) {
      while (thread.isAlive()) {
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        if (millis > STOP_MILLIS) {
          throw StateBackendException.internal(
              "the thread '" + thread.getName() + "' did not end within a minute");
        }
        if (millis > POLITE_STOP_MILLIS) {
          thread.interrupt();
        }
        try {
          thread.join(TICK_MILLIS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
