package io.alluvium.spi;

import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * When an attempt to store something counts as failed, when the next one starts, and when those who
 * wait are told. Immutable.
 *
 * @param maxAttempts how many there are before those who wait are told, unless there are no retries
 * @param nextAttemptDelay the pause after the first failure, or its bound
 * @param timeout of an attempt, for its first byte
 */
public record RetryPolicy(Kind kind, int maxAttempts, Duration nextAttemptDelay, Duration timeout) {

  /** How patient it is. */
  public enum Kind {
    NONE,
    FIXED,
    ADAPTIVE
  }

  private static final long MAX_DELAY_MILLIS = 10_000;
  private static final Duration MAX_TIMEOUT = Duration.ofMinutes(10);
  private static final int MAX_DOUBLINGS = 20;
  private static final long BYTES_PER_SECOND = 1L << 20;

  private static final Duration MILLISECOND = Duration.ofMillis(1);
  private static final Duration HOUR = Duration.ofHours(1);

  private static final Option<Duration> TIMEOUT =
      Option.duration(
          "dstl.dfs.upload.timeout",
          "1s",
          MILLISECOND,
          HOUR,
          "After this time, plus one second for every MB, an attempt to store a segment counts as"
              + " failed, and the same bytes are stored again under the same name. With the"
              + " adaptive retry policy it doubles with each attempt; the policy none has none.");

  private static final Option<Integer> MAX_ATTEMPTS =
      Option.integer(
          "dstl.dfs.upload.max-attempts",
          3,
          1,
          1000,
          "After this many failed attempts the checkpoints that wait for a segment fail. The"
              + " changes are kept and the attempts go on, so that a later checkpoint can succeed.");

  private static final Option<Duration> NEXT_ATTEMPT_DELAY =
      Option.duration(
          "dstl.dfs.upload.next-attempt-delay",
          "500ms",
          MILLISECOND,
          HOUR,
          "Pause before a segment is attempted again. With the policies adaptive and none it is any"
              + " part of this, at random, which doubles with each failure up to 10 s (or this"
              + " value, when it is greater).");

  private static final Option<String> RETRY_POLICY =
      Option.choice(
          "dstl.dfs.upload.retry-policy",
          "adaptive",
          List.of("none", "fixed", "adaptive"),
          "fixed: the same pause and timeout for each attempt. adaptive: both double. none: waiting"
              + " checkpoints fail with the first failed attempt. Whatever the policy, changes that"
              + " could not be stored are kept and attempted again. Second requests beside slow ones"
              + " are not its business but that of 'alluvium.hedge.max-percent'.");

  /** What {@link #of} reads. */
  public static final List<Option<?>> OPTIONS =
      List.of(TIMEOUT, MAX_ATTEMPTS, NEXT_ATTEMPT_DELAY, RETRY_POLICY);

  /** That of uploads of the log. */
  public static RetryPolicy of(Configuration configuration) {
    return new RetryPolicy(
        Kind.valueOf(configuration.get(RETRY_POLICY).toUpperCase(Locale.ROOT)),
        configuration.get(MAX_ATTEMPTS),
        configuration.get(NEXT_ATTEMPT_DELAY),
        configuration.get(TIMEOUT));
  }

  /** After how many failed attempts those who wait are told. */
  public int attemptsOfAWaiter() {
    return kind == Kind.NONE ? 1 : maxAttempts;
  }

  /**
   * The pause after a failure: unless it is fixed, any part of a length that doubles (full jitter),
   * so that many who failed together do not come back together.
   *
   * @param failures how many there were, at least 1
   */
  public Duration pause(int failures, RandomGenerator random) {
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
  public Optional<Duration> timeout(int failures, long sizeBytes) {
    if (kind == Kind.NONE) {
      return Optional.empty();
    }
    Duration one = timeout.plusMillis(sizeBytes * 1000 / BYTES_PER_SECOND);
    Duration all =
        kind == Kind.ADAPTIVE ? one.multipliedBy(1L << Math.min(failures, MAX_DOUBLINGS)) : one;
    return Optional.of(all.compareTo(MAX_TIMEOUT) > 0 && kind == Kind.ADAPTIVE ? MAX_TIMEOUT : all);
  }
}
