package io.alluvium.flink;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Execution;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.execution.Environment;
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

  private final Environment environment;
  private final Execution execution;
  private final StoreMetrics metrics;
  private final CloseableRegistry streams = new CloseableRegistry();

  /** Checkpoints that wait for their log, and those that wait for their whole table. */
  private final AtomicInteger awaitedLogs = new AtomicInteger();

  private final AtomicInteger awaitedTables = new AtomicInteger();

  TaskOwnedUploads(Environment environment, Execution execution, StoreMetrics metrics) {
    this.environment = environment;
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

  @Override
  public boolean wants(Blob blob) {
    return (blob.name.kind() == BlobName.Kind.LOG ? awaitedLogs : awaitedTables).get() == 0;
  }

  @Override
  public @Nullable StreamStateHandle store(FlinkBlobStore store, Blob blob) {
    CheckpointStorageWorkerView storage = storage();
    if (storage == null) {
      return null;
    }
    long start = execution.nanoTime();
    try {
      StreamStateHandle handle =
          StreamWriter.write(
              storage::createTaskOwnedStateStream, streams, out -> store.writeTo(blob, out));
      metrics.stored(purpose(blob), handle, (execution.nanoTime() - start) / 1000);
      return handle;
    } catch (IOException e) {
      metrics.failed();
      if (blob.name.kind() == BlobName.Kind.LOG) {
        // Our own copy is there; the next checkpoint stores it.
        LOG.info("the changelog was not stored ahead of its checkpoint: {}", e.toString());
        return null;
      }
      throw StateBackendException.unavailable(
          "cannot store table file '" + blob.name + "' in Flink's checkpoint storage: " + e, e);
    }
  }

  private static CheckpointFiles.Purpose purpose(Blob blob) {
    return blob.name.kind() == BlobName.Kind.LOG
        ? CheckpointFiles.Purpose.LOG
        : CheckpointFiles.Purpose.MATERIALIZATION;
  }

  /** Asked for late: an environment of a test has none. */
  private @Nullable CheckpointStorageWorkerView storage() {
    try {
      return environment.getCheckpointStorageAccess();
    } catch (UnsupportedOperationException | IllegalStateException e) {
      return null;
    }
  }

  @Override
  public void close() {
    IOUtils.closeQuietly(streams);
  }
}
