package io.alluvium.dstl;

import java.time.Duration;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the log that tasks wait because the store refuses what they logged: after some seconds,
 * then after pauses that double. Guarded by the uploader's lock; logs outside of it.
 */
final class StallWarnings {

  static final Duration FIRST = Duration.ofSeconds(5);
  static final Duration LONGEST_PAUSE = Duration.ofMinutes(10);

  private static final Logger LOG = LoggerFactory.getLogger(StallWarnings.class);

  private final long maxInFlightBytes;
  private int waiting;
  private long sinceNanos;
  private long nextNanos;
  private Duration pause = FIRST;
  private boolean warned;

  StallWarnings(long maxInFlightBytes) {
    this.maxInFlightBytes = maxInFlightBytes;
  }

  /** A task begins to wait for room. */
  void began(long nowNanos) {
    if (waiting++ == 0) {
      sinceNanos = nowNanos;
      pause = FIRST;
      nextNanos = nowNanos + FIRST.toNanos();
      warned = false;
    }
  }

  /** It goes on. */
  void ended(long nowNanos, List<Runnable> after) {
    if (--waiting == 0 && warned) {
      long seconds = Duration.ofNanos(nowNanos - sinceNanos).toSeconds();
      after.add(() -> LOG.info("Tasks go on, after {} s without room for changes", seconds));
    }
  }

  /**
   * An attempt to store failed.
   *
   * @param inFlightBytes what waits to be stored
   * @param why names the store and the remedy
   */
  void failed(long nowNanos, long inFlightBytes, String why, List<Runnable> after) {
    if (waiting == 0 || nowNanos - nextNanos < 0) {
      return;
    }
    int tasks = waiting;
    long seconds = Duration.ofNanos(nowNanos - sinceNanos).toSeconds();
    after.add(
        () ->
            LOG.warn(
                "{} for {} s, because {} bytes of changes are not stored and {} may be"
                    + " ('{}'): {}",
                tasks == 1 ? "A task has waited" : tasks + " tasks have waited",
                seconds,
                inFlightBytes,
                maxInFlightBytes,
                DstlOptions.MAX_IN_FLIGHT.key(),
                why));
    warned = true;
    nextNanos = nowNanos + pause.toNanos();
    pause = pause.multipliedBy(2);
    if (pause.compareTo(LONGEST_PAUSE) > 0) {
      pause = LONGEST_PAUSE;
    }
  }
}
