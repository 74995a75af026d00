package io.alluvium.flink;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Pace;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStorageWorkerView;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.util.IOUtils;
import org.apache.flink.util.function.ThrowingConsumer;
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

  /** One that sends nothing for longer hangs, and whatever waits for it would wait for ever. */
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
  public CompletableFuture<@Nullable StreamStateHandle> store(
      FlinkBlobStore store, Blob blob, Pace pace) {
    CheckpointStorageWorkerView view = storage();
    if (view == null) {
      return CompletableFuture.completedFuture(null);
    }
    CompletableFuture<@Nullable StreamStateHandle> stored = new CompletableFuture<>();
    Watch watch = new Watch(blob, stored);
    boolean isLog = blob.name.kind() == BlobName.Kind.LOG;
    if (isLog) {
      logsUnderWay.incrementAndGet();
    }
    CompletableFuture<?> unused =
        stored.whenComplete(
            (handle, failure) -> {
              watch.cancel();
              // Not that of a later attempt, which may have begun.
              underWay.remove(blob.name, stored);
              if (isLog) {
                logsUnderWay.decrementAndGet();
              }
            });
    underWay.put(blob.name, stored);
    if (closed) {
      stored.completeExceptionally(closed(blob));
    }
    watch.after(LONGEST);
    if (stored.isDone()) {
      return stored;
    }
    Execution.handOff(
        threads,
        () ->
            run(
                view,
                blob,
                out ->
                    store.writeTo(
                        blob, new PacedOutputStream(out, blob.sizeBytes, watch.over(pace))),
                stored),
        refusal -> failed(stored, blob, refusal));
    return stored;
  }

  private static void failed(
      CompletableFuture<@Nullable StreamStateHandle> stored, Blob blob, Throwable e) {
    boolean over =
        e instanceof StateBackendException known
            && known.kind() == StateBackendException.Kind.CLOSED;
    stored.completeExceptionally(over ? e : failure(blob, e));
  }

  private void run(
      CheckpointStorageWorkerView view,
      Blob blob,
      ThrowingConsumer<CheckpointStateOutputStream, IOException> content,
      CompletableFuture<@Nullable StreamStateHandle> stored) {
    long start = execution.nanoTime();
    try {
      StreamStateHandle handle =
          StreamWriter.write(view::createTaskOwnedStateStream, streams, content);
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
      failed(stored, blob, e);
    }
  }

  /** Ends an upload that sends nothing for too long, unless its pace says so. Thread-safe. */
  private final class Watch {
    private final Blob blob;
    private final CompletableFuture<@Nullable StreamStateHandle> stored;
    private volatile long progressNanos = execution.nanoTime();
    private volatile boolean paced;
    private volatile Execution.@Nullable Scheduled next;

    Watch(Blob blob, CompletableFuture<@Nullable StreamStateHandle> stored) {
      this.blob = blob;
      this.stored = stored;
    }

    /** The time that a pace takes does not count: it may be hours, where intervals are long. */
    Pace over(Pace pace) {
      return bytes -> {
        paced = true;
        try {
          pace.await(bytes);
        } finally {
          progressNanos = execution.nanoTime();
          paced = false;
        }
      };
    }

    /** Without a timer the upload fails now, and is tried again: later it might hang unseen. */
    void after(Duration delay) {
      next =
          Execution.handOff(execution, delay, this::look, refusal -> failed(stored, blob, refusal));
      if (stored.isDone()) {
        cancel();
      }
    }

    private void look() {
      boolean waits = paced;
      Duration left = waits ? LONGEST : LONGEST.minusNanos(execution.nanoTime() - progressNanos);
      if (left.isNegative() || left.isZero()) {
        stored.completeExceptionally(
            failure(blob, new TimeoutException("nothing was sent for " + LONGEST)));
      } else {
        after(left);
      }
    }

    void cancel() {
      Execution.Scheduled scheduled = next;
      if (scheduled != null) {
        scheduled.cancel();
      }
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
    Execution.handOff(
        threads,
        () -> IOUtils.closeQuietly(streams),
        refusal -> LOG.debug("streams are left to themselves: {}", refusal.getMessage()));
  }
}
