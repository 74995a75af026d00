package io.alluvium.internal.catalog;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Repeats a call while the store is {@code UNAVAILABLE}, with exponential backoff and full jitter,
 * up to a total time. Thread-safe.
 */
final class Retrier {

  private static final Logger LOG = LoggerFactory.getLogger(Retrier.class);

  /** Shorter trouble is no news; a person who waits for longer wants to know why. */
  private static final Duration TOLD_AFTER = Duration.ofSeconds(1);

  private static final long FIRST_DELAY_MILLIS = 50;
  private static final long MAX_DELAY_MILLIS = 5_000;

  private final Execution execution;
  private final RandomGenerator random;
  private final Duration total;

  Retrier(Execution execution, RandomGenerator random, Duration total) {
    this.execution = execution;
    this.random = random;
    this.total = total;
  }

  /** Gives what the call gave; throws its last {@code UNAVAILABLE}, or at once anything else. */
  <T> T call(Supplier<T> call) {
    long start = execution.nanoTime();
    long delayMillis = FIRST_DELAY_MILLIS;
    boolean told = false;
    while (true) {
      StateBackendException last;
      try {
        return call.get();
      } catch (StateBackendException e) {
        long elapsedNanos = execution.nanoTime() - start;
        if (e.kind() != Kind.UNAVAILABLE || elapsedNanos >= total.toNanos()) {
          throw e;
        }
        if (!told && elapsedNanos >= TOLD_AFTER.toNanos()) {
          LOG.warn("{}; trying again for up to {} s", e.getMessage(), total.toSeconds());
          told = true;
        }
        last = e;
      }
      pause(random.nextLong(delayMillis + 1), last);
      delayMillis = Math.min(MAX_DELAY_MILLIS, 2 * delayMillis);
    }
  }

  /** Without a timer nobody would end the pause: the call has failed then. */
  private void pause(long millis, StateBackendException last) {
    CompletableFuture<Boolean> over = new CompletableFuture<>();
    Execution.Scheduled unused =
        Execution.handOff(
            execution,
            Duration.ofMillis(millis),
            () -> over.complete(true),
            refusal -> {
              last.addSuppressed(refusal);
              throw last;
            });
    Boolean unusedResult = execution.await(over);
  }
}
