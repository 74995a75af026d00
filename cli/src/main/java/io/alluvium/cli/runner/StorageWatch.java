package io.alluvium.cli.runner;

import io.alluvium.cli.input.JobException;
import java.time.Duration;

/**
 * Finds out that tasks wait for storage that refuses everything: they are held back as long as the
 * changelog cannot be stored, and would never reach the barrier of a checkpoint that could fail.
 * Confined to the coordinator's thread.
 */
final class StorageWatch {

  private static final long PATIENCE_NANOS = Duration.ofSeconds(30).toNanos();

  private final MemoryMetrics metrics;
  private final String directory;
  private long stored = -1;
  private long failedBefore;
  private long sinceNanos;

  /**
   * Watches from the first {@link #check} on.
   *
   * @param directory where checkpoints go, for the message
   */
  StorageWatch(MemoryMetrics metrics, String directory) {
    this.metrics = metrics;
    this.directory = directory;
  }

  /** Throws when uploads failed and none succeeded for long; called while tasks are waited for. */
  void check(long nowNanos) {
    long storedNow = metrics.count("changelog.upload.segments");
    long failed = metrics.count("changelog.upload.failures") - failedBefore;
    if (storedNow != stored) {
      stored = storedNow;
      failedBefore += failed;
      sinceNanos = nowNanos;
    } else if (failed > 0 && nowNanos - sinceNanos > PATIENCE_NANOS) {
      throw new JobException(
          "the changelog could not be stored in '"
              + directory
              + "' for 30 s ("
              + failed
              + " uploads failed) and the tasks have no room for more; see that there is space and"
              + " that it can be written, then run the same command again: it resumes from the"
              + " newest confirmed checkpoint");
    }
  }

  /** Starts anew: what happened before does not count. */
  void reset() {
    stored = -1;
  }
}
