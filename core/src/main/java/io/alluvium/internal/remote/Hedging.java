package io.alluvium.internal.remote;

import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Makes a second request beside one that is slow, within a budget (L5). Thread-safe.
 *
 * <p>After Dean and Barroso, "The Tail at Scale", CACM 56(2), 2013.
 */
final class Hedging {

  /*
   * How long a request takes depends on its size, so that each class of sizes has a window of its own. What was given up
   * counts with the time until then: it would have taken longer. What failed does not count.
   *
   * As long as a class has seen too few requests, only one that takes a second is slow. There are no second
   * requests while the store complains about too many, and for a minute after.
   */
  private static final long[] CLASS_BYTES = {64L << 10, 1L << 20, 16L << 20};
  private static final long COLD_NANOS = Duration.ofSeconds(1).toNanos();

  /** Below this a second request gains nothing. */
  private static final long LEAST_NANOS = Duration.ofMillis(5).toNanos();

  private static final double SAVED_UP = 10;

  private final Execution execution;
  private final RequestLimit limit;
  private final RequestBudget budget;
  private final LatencyWindow[] windows = new LatencyWindow[CLASS_BYTES.length];
  private final Metrics.Counter made;
  private final Metrics.Counter decisive;

  /**
   * @param share second requests for each first one, at most; 0 = none
   */
  Hedging(Execution execution, RequestLimit limit, double share, Metrics metrics) {
    this.execution = execution;
    this.limit = limit;
    this.budget = new RequestBudget(share, share == 0 ? 0 : SAVED_UP);
    for (int i = 0; i < windows.length; i++) {
      windows[i] = new LatencyWindow(COLD_NANOS);
    }
    this.made = metrics.counter("store.hedge.count");
    this.decisive = metrics.counter("store.hedge.decisive.count");
  }

  /**
   * Makes a request, and a second one if it is slow.
   *
   * @param request makes a request of {@code sizeBytes} and waits, until it is given up
   */
  <T> Race.Outcome<T> call(long sizeBytes, Function<CompletableFuture<?>, T> request) {
    int sizeClass = 0;
    while (sizeClass < CLASS_BYTES.length && sizeBytes > CLASS_BYTES[sizeClass]) {
      sizeClass++;
    }
    if (sizeClass == CLASS_BYTES.length) {
      return new Race<>(execution, request).run();
    }
    LatencyWindow window = windows[sizeClass];
    Race<T> race = new Race<>(execution, givenUp -> timed(window, request, givenUp));
    budget.earn();
    Execution.Scheduled timer =
        // Refused: the request is on its own.
        Execution.handOff(
            execution,
            Duration.ofNanos(Math.max(LEAST_NANOS, window.boundNanos())),
            () -> isSlow(race),
            refusal -> {});
    Race.Outcome<T> outcome;
    try {
      outcome = race.run();
    } finally {
      timer.cancel();
    }
    if (outcome.secondDecided()) {
      decisive.add(1);
    }
    return outcome;
  }

  private <T> T timed(
      LatencyWindow window,
      Function<CompletableFuture<?>, T> request,
      CompletableFuture<?> givenUp) {
    long start = execution.nanoTime();
    boolean done = false;
    try {
      T answer = request.apply(givenUp);
      done = true;
      return answer;
    } finally {
      if (done || givenUp.isDone()) {
        window.add(execution.nanoTime() - start);
      }
    }
  }

  private void isSlow(Race<?> race) {
    if (!limit.complainedLately() && budget.spend()) {
      race.second(() -> made.add(1), budget::giveBack);
    }
  }
}
