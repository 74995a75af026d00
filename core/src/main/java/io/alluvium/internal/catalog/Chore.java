package io.alluvium.internal.catalog;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One kind of request that collections make. A store may refuse one kind for good and serve the
 * others, so each is tried again by itself, after pauses that double, and is warned of once.
 * Confined to the collection that runs.
 */
final class Chore {

  private static final Logger LOG = LoggerFactory.getLogger(Chore.class);

  private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofMinutes(10);

  private final String what;
  private final Execution execution;
  private final Metrics.Counter failureCount;
  private int failures;
  private long nextNanos;

  /**
   * @param what for messages: "... failed"
   * @param failureCount counts failed attempts
   */
  Chore(String what, Execution execution, Metrics.Counter failureCount) {
    this.what = what;
    this.execution = execution;
    this.failureCount = failureCount;
  }

  /** Whether the pause after the last failure is over. */
  boolean isDue() {
    return failures == 0 || execution.nanoTime() - nextNanos >= 0;
  }

  /**
   * What an attempt came to.
   *
   * @param finished whether nothing is left to do; false also without a failure, for work that
   *     stopped half-way
   */
  record Outcome(boolean finished, @Nullable Throwable failure) {}

  /**
   * Makes an attempt. The end of the process is thrown.
   *
   * @param work returns whether it finished
   */
  Outcome attempt(BooleanSupplier work) {
    boolean finished;
    try {
      finished = work.getAsBoolean();
    } catch (RuntimeException | Error e) {
      if (endsWithProcess(e)) {
        throw e;
      }
      failed(e);
      return new Outcome(false, e);
    }
    if (failures > 0) {
      LOG.info("{} works again, after {} failures", what, failures);
    }
    failures = 0;
    return new Outcome(finished, null);
  }

  /** Whether it failed because the process ends: what is left is the next owner's, and no news. */
  static boolean endsWithProcess(Throwable failure) {
    return Thread.currentThread().isInterrupted()
        || (failure instanceof StateBackendException known && known.kind() == Kind.CLOSED);
  }

  private void failed(Throwable failure) {
    Duration pause = FIRST_PAUSE.multipliedBy(1L << Math.min(20, failures));
    if (pause.compareTo(LONGEST_PAUSE) > 0) {
      pause = LONGEST_PAUSE;
    }
    nextNanos = execution.nanoTime() + pause.toNanos();
    failures++;
    failureCount.add(1);
    String why =
        failure instanceof StateBackendException
            ? String.valueOf(failure.getMessage())
            : failure.toString();
    if (failures == 1) {
      LOG.warn(
          "{} failed; a later checkpoint tries again, after pauses of up to {} minutes and without"
              + " further warnings: {}",
          what,
          LONGEST_PAUSE.toMinutes(),
          why);
    } else {
      LOG.debug("{} failed {} times in a row: {}", what, failures, why);
    }
  }
}
