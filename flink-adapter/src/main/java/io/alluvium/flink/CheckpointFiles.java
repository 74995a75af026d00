package io.alluvium.flink;

import io.alluvium.spi.Execution;
import io.alluvium.spi.RetryPolicy;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.Executor;
import java.util.random.RandomGenerator;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.util.function.SupplierWithException;
import org.apache.flink.util.function.ThrowingConsumer;

/**
 * Stores the files of checkpoints through Flink's streams, each in as many attempts as the policy
 * of log uploads allows. Thread-safe.
 *
 * @param execution its timers
 * @param threads make the attempts; one that hangs keeps its thread, so that there must be as many
 *     as are asked for
 * @param random for pauses; thread-safe
 */
record CheckpointFiles(
    Execution execution,
    Executor threads,
    RetryPolicy policy,
    RandomGenerator random,
    StoreMetrics metrics) {

  /** What a file is for. */
  enum Purpose {
    /** Short, and what every checkpoint waits for: one that is slow gets a second attempt. */
    LOG,
    /** As the log. */
    MANIFEST,
    /** Long: one that is slow is left alone. */
    MATERIALIZATION;

    boolean hedged() {
      return this != MATERIALIZATION;
    }
  }

  /**
   * One file.
   *
   * @param open makes a stream for an attempt
   * @param content writes all of it; called by each attempt, also by two at once
   */
  record File(
      String name,
      Purpose purpose,
      long sizeBytes,
      SupplierWithException<CheckpointStateOutputStream, IOException> open,
      ThrowingConsumer<OutputStream, IOException> content) {}

  /**
   * Stores a file, or leaves nothing behind. Does not wait.
   *
   * @param registry ends the attempts when it is closed, as it is when the checkpoint is cancelled
   */
  FileAttempts store(File file, CloseableRegistry registry) {
    return new FileAttempts(this, file, registry).start();
  }
}
