package io.alluvium.flink;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.CheckpointStorageWorkerView;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.util.IOUtils;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stores blobs in files that belong to the task until a checkpoint is given them: a changelog that
 * grows long between two checkpoints, and materializations. Thread-safe.
 */
final class TaskOwnedUploads implements EarlyUploads, AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(TaskOwnedUploads.class);

  private static final int LOGS_AT_ONCE = 2;

  /** One that takes longer hangs; whoever waits for it holds up others. */
  private static final Duration LONGEST = Duration.ofMinutes(30);

  private final Supplier<CheckpointStorageWorkerView> storage;
  private final Execution execution;
  private final StoreMetrics metrics;
  private final Executor threads;
  private final CloseableRegistry streams = new CloseableRegistry();
  private final Map<BlobName, CompletableFuture<@Nullable StreamStateHandle>> underWay =
      new ConcurrentHashMap<>();
  private final AtomicInteger logsUnderWay = new AtomicInteger();
  private volatile boolean closed;

  /** Checkpoints that wait for their log, and those that wait for their whole table. */
  private final AtomicInteger awaitedLogs = new AtomicInteger();

  private final AtomicInteger awaitedTables = new AtomicInteger();

  /**
   * Uploads of one backend.
   *
   * @param storage asked for late: an environment of a test has none
   * @param threads make them; one that hangs keeps its thread
   */
  TaskOwnedUploads(
      Supplier<CheckpointStorageWorkerView> storage,
      Execution execution,
      Executor threads,
      StoreMetrics metrics) {
    this.storage = storage;
    this.threads = threads;
    this.execution = execution;
    this.metrics = metrics;
  }

  /** A checkpoint is about to be given what comes now. */
  AutoCloseableQuietly await(Awaited what) {
    awaitedLogs.incrementAndGet();
    if (what == Awaited.TABLE) {
      awaitedTables.incrementAndGet();
    }
    return () -> {
      awaitedLogs.decrementAndGet();
      if (what == Awaited.TABLE) {
        awaitedTables.decrementAndGet();
      }
    };
  }

  /** What a checkpoint waits for. */
  enum Awaited {
    LOG,
    /** The log, and a table that is stored as a whole for it. */
    TABLE
  }

  /** Closes without a checked exception. */
  interface AutoCloseableQuietly extends AutoCloseable {
    @Override
    void close();
  }

  /** Of the log, a few at once; what is not stored early is stored by the next checkpoint. */
  @Override
  public boolean wants(Blob blob) {
    return blob.name.kind() == BlobName.Kind.LOG
        ? awaitedLogs.get() == 0 && logsUnderWay.get() < LOGS_AT_ONCE
        : awaitedTables.get() == 0;
  }

  @Override
  public CompletableFuture<@Nullable StreamStateHandle> store(FlinkBlobStore store, Blob blob) {
    CheckpointStorageWorkerView view = storage();
    if (view == null) {
      return CompletableFuture.completedFuture(null);
    }
    CompletableFuture<@Nullable StreamStateHandle> stored = new CompletableFuture<>();
    Execution.Scheduled limit =
        execution.schedule(
            LONGEST,
            () ->
                stored.completeExceptionally(
                    failure(blob, new TimeoutException("not stored within " + LONGEST))));
    boolean isLog = blob.name.kind() == BlobName.Kind.LOG;
    if (isLog) {
      logsUnderWay.incrementAndGet();
    }
    CompletableFuture<?> unused =
        stored.whenComplete(
            (handle, failure) -> {
              limit.cancel();
              underWay.remove(blob.name);
              if (isLog) {
                logsUnderWay.decrementAndGet();
              }
            });
    underWay.put(blob.name, stored);
    if (closed) {
      stored.completeExceptionally(closed(blob));
    }
    try {
      threads.execute(() -> run(view, store, blob, stored));
    } catch (RejectedExecutionException | VirtualMachineError e) {
      stored.completeExceptionally(failure(blob, e));
    }
    return stored;
  }

  private void run(
      CheckpointStorageWorkerView view,
      FlinkBlobStore store,
      Blob blob,
      CompletableFuture<@Nullable StreamStateHandle> stored) {
    long start = execution.nanoTime();
    try {
      StreamStateHandle handle =
          StreamWriter.write(
              view::createTaskOwnedStateStream, streams, out -> store.writeTo(blob, out));
      metrics.stored(purpose(blob), handle, (execution.nanoTime() - start) / 1000);
      if (!stored.complete(handle)) {
        StreamWriter.discard(handle);
      }
    } catch (Throwable e) {
      // Whatever it is, somebody may wait for the end.
      metrics.failed();
      if (blob.name.kind() == BlobName.Kind.LOG && !closed) {
        LOG.info("the changelog was not stored ahead of its checkpoint: {}", e.toString());
      }
      stored.completeExceptionally(failure(blob, e));
    }
  }

  private static StateBackendException failure(Blob blob, Throwable cause) {
    return StateBackendException.unavailable(
        "cannot store '" + blob.name + "' in Flink's checkpoint storage: " + cause, cause);
  }

  private static StateBackendException closed(Blob blob) {
    return StateBackendException.closed(
        "the backend was closed while '" + blob.name + "' was stored");
  }

  private static CheckpointFiles.Purpose purpose(Blob blob) {
    return blob.name.kind() == BlobName.Kind.LOG
        ? CheckpointFiles.Purpose.LOG
        : CheckpointFiles.Purpose.MATERIALIZATION;
  }

  private @Nullable CheckpointStorageWorkerView storage() {
    try {
      return storage.get();
    } catch (UnsupportedOperationException | IllegalStateException e) {
      return null;
    }
  }

  /**
   * Nobody waits for an upload any more. The streams are closed by another thread, because one that
   * hangs may hang its closing as well.
   */
  @Override
  public void close() {
    closed = true;
    for (CompletableFuture<@Nullable StreamStateHandle> stored : List.copyOf(underWay.values())) {
      stored.completeExceptionally(
          StateBackendException.closed("the backend was closed while a file was stored"));
    }
    try {
      threads.execute(() -> IOUtils.closeQuietly(streams));
    } catch (RejectedExecutionException | VirtualMachineError e) {
      LOG.debug("streams are left to themselves: {}", e.toString());
    }
  }
}
