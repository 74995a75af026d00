package io.alluvium.cli.runner;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** What the threads of a job tell each other besides messages. Thread-safe. */
final class JobControl {

  private final CompletableFuture<Void> failure = new CompletableFuture<>();
  private final LongAdder records = new LongAdder();
  private final LongAdder bytes = new LongAdder();
  private volatile @Nullable PendingCheckpoint requested;
  private volatile boolean stopped;

  /** Asks every source to send the barrier of a checkpoint. */
  void request(PendingCheckpoint checkpoint) {
    requested = checkpoint;
  }

  /** The newest checkpoint that was asked for. */
  @Nullable PendingCheckpoint requested() {
    return requested;
  }

  /** Tells every thread to end. */
  void stop() {
    stopped = true;
  }

  boolean stopped() {
    return stopped;
  }

  /** The job failed; the first cause counts. */
  void fail(Throwable cause) {
    failure.completeExceptionally(cause);
  }

  /** Fails when a thread of the job failed; never completes otherwise. */
  CompletableFuture<Void> failure() {
    return failure;
  }

  /** A record was read. */
  void read(long byteCount) {
    records.increment();
    bytes.add(byteCount);
  }

  /** Records read since the process started. */
  long records() {
    return records.sum();
  }

  /** Bytes of these records. */
  long bytes() {
    return bytes.sum();
  }
}
