package io.alluvium.cli.runner;

import com.google.errorprone.annotations.concurrent.GuardedBy;

/**
 * Spreads the records of all sources evenly over time. Thread-safe; guarded by {@code this}.
 *
 * <p>Every record has its moment on one schedule. Who is late catches up, but after a longer stop
 * no more than a tenth of a second's records come at once.
 */
final class Pace {

  private static final double MAX_CATCH_UP_NANOS = 100_000_000;

  private final double nanosPerRecord;
  private final long startNanos;

  @GuardedBy("this")
  private double next;

  /**
   * A schedule that begins now.
   *
   * @param startNanos by {@code System.nanoTime()}
   */
  Pace(double recordsPerSecond, long startNanos) {
    this.nanosPerRecord = 1e9 / recordsPerSecond;
    this.startNanos = startNanos;
  }

  /** Takes the next moment; tells how many nanoseconds to wait for it, 0 or less for none. */
  synchronized long take(long nowNanos) {
    double now = nowNanos - startNanos;
    next = Math.max(next, now - MAX_CATCH_UP_NANOS);
    double at = next;
    next += nanosPerRecord;
    return (long) (at - now);
  }
}
