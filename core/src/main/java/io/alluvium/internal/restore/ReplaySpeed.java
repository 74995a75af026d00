package io.alluvium.internal.restore;

import java.time.Duration;

/**
 * How fast this process replays changelogs: what the restores so far took, and before the first one
 * a cautious guess. Nothing is stored. Thread-safe; guarded by {@code this}.
 */
public final class ReplaySpeed {

  /** A fraction of what the ingest path does on one slow core. */
  private static final long GUESSED_CHANGES_PER_SECOND = 250_000;

  private static final long GUESSED_BYTES_PER_SECOND = 20_000_000;

  /** The guess counts for as much as one second of measured replay. */
  private static final double GUESS_SECONDS = 1;

  /** Older restores fade: everything before a measurement counts for at most this long. */
  private static final double MEMORY_SECONDS = 60;

  private double seconds = GUESS_SECONDS;
  private double changes = GUESSED_CHANGES_PER_SECOND * GUESS_SECONDS;
  private double bytes = GUESSED_BYTES_PER_SECOND * GUESS_SECONDS;

  /**
   * Notes a replay.
   *
   * @param replayedChanges before coalescing
   * @param replayedBytes of the blocks they were in, decoded
   */
  public synchronized void measured(long replayedChanges, long replayedBytes, Duration time) {
    if (seconds > MEMORY_SECONDS) {
      double share = MEMORY_SECONDS / seconds;
      seconds *= share;
      changes *= share;
      bytes *= share;
    }
    seconds += time.toNanos() / 1e9;
    changes += replayedChanges;
    bytes += replayedBytes;
  }

  public synchronized double changesPerSecond() {
    return changes / seconds;
  }

  public synchronized double bytesPerSecond() {
    return bytes / seconds;
  }

  /** How long a changelog of that many bytes, as appended, is likely to take. */
  public synchronized Duration estimate(long changelogBytes) {
    return Duration.ofNanos((long) (changelogBytes / bytesPerSecond() * 1e9));
  }
}
