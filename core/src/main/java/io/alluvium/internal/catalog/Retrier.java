package io.alluvium.internal.catalog;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * Repeats a call while the store is {@code UNAVAILABLE}, with exponential backoff and full jitter,
 * up to a total time. Thread-safe.
 */
final class Retrier {

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
    while (true) {
      try {
        return call.get();
      } catch (StateBackendException e) {
        if (e.kind() != Kind.UNAVAILABLE || execution.nanoTime() - start >= total.toNanos()) {
          throw e;
        }
      }
      pause(random.nextLong(delayMillis + 1));
      delayMillis = Math.min(MAX_DELAY_MILLIS, 2 * delayMillis);
    }
  }

  private void pause(long millis) {
    CompletableFuture<Boolean> over = new CompletableFuture<>();
    Execution.Scheduled unused =
        execution.schedule(Duration.ofMillis(millis), () -> over.complete(true));
    Boolean unusedResult = execution.await(over);
  }
}
