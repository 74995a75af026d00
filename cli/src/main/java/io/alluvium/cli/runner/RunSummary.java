package io.alluvium.cli.runner;

import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import org.jspecify.annotations.Nullable;

/**
 * What {@code --summary} writes; the names are the fields of the file. Immutable.
 *
 * @param records input lines, or rows, that this process read
 * @param restoredFromCheckpoint where it resumed; null when it started at the beginning
 * @param replayedChanges changes of the log that were applied by the restore
 * @param restoreMillis how long the restore took
 */
@JsonPropertyOrder({
  "records",
  "restoredFromCheckpoint",
  "replayedChanges",
  "restoreMillis",
  "checkpoints",
  "materializations",
  "requests",
  "recordsPerSecond"
})
public record RunSummary(
    long records,
    @Nullable Long restoredFromCheckpoint,
    long replayedChanges,
    long restoreMillis,
    Checkpoints checkpoints,
    Materializations materializations,
    Requests requests,
    double recordsPerSecond) {

  /** Checkpoints of this process. */
  public record Checkpoints(
      long completed,
      long failed,
      Percentiles durationMillis,
      Percentiles syncMicros,
      Sizes bytesFlushed) {}

  /** Half are at most p50, 99 of 100 at most p99. */
  public record Percentiles(long p50, long p99, long max) {}

  /** As {@link Percentiles}. */
  public record Sizes(long p50, long max) {}

  /** Background materializations of this process. */
  public record Materializations(long completed, long failed) {}

  /**
   * What this process asked of its blob store, attempts that failed included.
   *
   * @param perCheckpoint those for the log and for manifests, by the completed checkpoints
   * @param perCheckpointInAll all of them, by the completed checkpoints
   */
  public record Requests(
      long put,
      long get,
      long list,
      long delete,
      long bytesPut,
      long bytesGot,
      double perCheckpoint,
      double perCheckpointInAll) {}
}
