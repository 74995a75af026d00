package io.alluvium.internal.backend;

import java.time.Duration;

/**
 * Judges whether a changelog has grown so long that replaying it would take longer than the user
 * wants to wait, from the speed of the last replay that this process measured. Thread-safe.
 */
final class RestoreEstimate {

  /** Before anything was measured: a tenth of what the ingest path replays on one core. */
  private static final double BYTES_PER_SECOND = 20e6;

  /** A replay shorter than this says nothing about speed. */
  private static final Duration SHORTEST = Duration.ofMillis(200);

  private final double objectiveSeconds;
  private volatile double bytesPerSecond = BYTES_PER_SECOND;

  /**
   * @param objective zero = never materialize for the sake of the restore time
   */
  RestoreEstimate(Duration objective) {
    this.objectiveSeconds = objective.toMillis() / 1e3;
  }

  void measured(long bytes, Duration time) {
    if (time.compareTo(SHORTEST) >= 0) {
      bytesPerSecond = Math.max(1e6, bytes / (time.toNanos() / 1e9));
    }
  }

  boolean isTooLong(long changelogBytes) {
    return objectiveSeconds > 0 && changelogBytes / bytesPerSecond > objectiveSeconds;
  }
}
