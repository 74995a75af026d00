package io.alluvium.dstl;

import java.time.Duration;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * When an attempt to store a segment counts as failed, when the next one starts, and when those who
 * wait are told. Immutable.
 */
record RetryPolicy(Kind kind, int maxAttempts, Duration nextAttemptDelay, Duration timeout) {

  enum Kind {
    NONE,
    FIXED,
    ADAPTIVE
  }

  private static final long MAX_DELAY_MILLIS = 10_000;
  private static final Duration MAX_TIMEOUT = Duration.ofMinutes(10);
  private static final int MAX_DOUBLINGS = 20;
  private static final long BYTES_PER_SECOND = 1L << 20;

  /** After how many failed attempts a waiting persist fails. */
  int attemptsOfAWaiter() {
    return kind == Kind.NONE ? 1 : maxAttempts;
  }

  /**
   * The pause after a failure: unless it is fixed, any part of a length that doubles (full jitter),
   * so that many who failed together do not come back together.
   *
   * @param failures how many there were, at least 1
   */
  Duration pause(int failures, RandomGenerator random) {
    if (kind == Kind.FIXED) {
      return nextAttemptDelay;
    }
    long base = nextAttemptDelay.toMillis();
    long longest = Math.max(base, MAX_DELAY_MILLIS);
    long millis = Math.min(longest, base << Math.min(failures - 1, MAX_DOUBLINGS));
    return Duration.ofMillis(1 + (long) (random.nextDouble() * millis));
  }

  /**
   * When an attempt counts as failed although it has not returned.
   *
   * @param failures how many attempts failed before
   */
  Optional<Duration> timeout(int failures, long sizeBytes) {
    if (kind == Kind.NONE) {
      return Optional.empty();
    }
    Duration one = timeout.plusMillis(sizeBytes * 1000 / BYTES_PER_SECOND);
    Duration all =
        kind == Kind.ADAPTIVE ? one.multipliedBy(1L << Math.min(failures, MAX_DOUBLINGS)) : one;
    return Optional.of(all.compareTo(MAX_TIMEOUT) > 0 && kind == Kind.ADAPTIVE ? MAX_TIMEOUT : all);
  }
}
