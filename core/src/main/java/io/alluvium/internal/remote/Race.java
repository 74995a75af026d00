package io.alluvium.internal.remote;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Execution;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One request, and perhaps a second one of the same kind beside it, of which the first to return
 * decides. Used by the caller's thread and that of the second; guarded by {@code this}.
 */
final class Race<T> {

  /*
   * The caller makes the first request in its own thread. When a timer says that it is slow, the second one is made on
   * another. Who returns normally gives up the other, which then fails soon; who fails leaves the decision to the other.
   *
   * The caller waits for both, so that afterwards nobody reads its buffers. A second request that has not begun when the
   * first returns is not made. No lock is held across a request or a wait.
   */
  private enum Second {
    NONE,
    QUEUED,
    RUNNING,
    OFF
  }

  /** What became of one request; one of the two is null. */
  private record End<T>(@Nullable T value, @Nullable RuntimeException failure) {
    /** It failed in a way that the other one need not share. */
    boolean leavesItToTheOther() {
      return failure instanceof StateBackendException known && known.kind() == Kind.UNAVAILABLE;
    }
  }

  /**
   * What the requests returned.
   *
   * @param other what the second returned, if both returned normally
   */
  record Outcome<T>(T value, Optional<T> other, Requests requests) {
    boolean secondDecided() {
      return requests == Requests.SECOND_DECIDED;
    }
  }

  /** Which requests there were, and whose answer counts. */
  enum Requests {
    ONE,
    FIRST_DECIDED,
    SECOND_DECIDED
  }

  private final Execution execution;
  private final Function<CompletableFuture<?>, T> request;
  private final CompletableFuture<Boolean> firstGivenUp = new CompletableFuture<>();
  private final CompletableFuture<Boolean> secondGivenUp = new CompletableFuture<>();
  private final CompletableFuture<End<T>> secondEnd = new CompletableFuture<>();
  private Second second = Second.NONE;

  /**
   * @param request makes a request and waits for it, until it is given up
   */
  Race(Execution execution, Function<CompletableFuture<?>, T> request) {
    this.execution = execution;
    this.request = request;
  }

  /** Makes the first request and waits for what was begun; throws when all of it failed. */
  Outcome<T> run() {
    End<T> first;
    boolean ended = false;
    try {
      first = attempt(firstGivenUp);
      ended = true;
    } finally {
      if (!ended && isTwice()) {
        // An error, out of memory perhaps: the second must not go on with the caller's buffers.
        secondGivenUp.complete(true);
        End<T> unused = awaitSecond();
      }
    }
    return isTwice() ? decide(first) : new Outcome<>(value(first), Optional.empty(), Requests.ONE);
  }

  /** Whether the second one was begun; if not, it will not be any more. */
  private synchronized boolean isTwice() {
    boolean twice = second == Second.RUNNING;
    if (!twice) {
      second = Second.OFF;
    }
    return twice;
  }

  private Outcome<T> decide(End<T> first) {
    if (!first.leavesItToTheOther()) {
      secondGivenUp.complete(true);
    }
    End<T> other = awaitSecond();
    if (first.failure == null) {
      return new Outcome<>(value(first), Optional.ofNullable(other.value), Requests.FIRST_DECIDED);
    }
    if (other.failure != null) {
      first.failure.addSuppressed(other.failure);
      throw first.failure;
    }
    return new Outcome<>(value(other), Optional.empty(), Requests.SECOND_DECIDED);
  }

  private End<T> awaitSecond() {
    try {
      return execution.await(secondEnd);
    } catch (RuntimeException e) {
      // Interrupted: nobody needs either of them.
      secondGivenUp.complete(true);
      throw e;
    }
  }

  private static <T> T value(End<T> end) {
    if (end.failure != null) {
      throw end.failure;
    }
    if (end.value == null) {
      throw StateBackendException.internal("a request returned nothing");
    }
    return end.value;
  }

  private End<T> attempt(CompletableFuture<Boolean> givenUp) {
    try {
      return new End<>(request.apply(givenUp), null);
    } catch (RuntimeException e) {
      return new End<>(null, e);
    }
  }

  /**
   * Makes the second request soon unless the first has returned; does not wait.
   *
   * @param made runs when it is made
   * @param notMade runs if it will not be made after all
   */
  void second(Runnable made, Runnable notMade) {
    if (!move(Second.NONE, Second.QUEUED)) {
      notMade.run();
      return;
    }
    // Refused: the first request is on its own.
    Execution.handOff(execution.hedges(), () -> runSecond(made, notMade), refusal -> notMade.run());
  }

  private synchronized boolean move(Second from, Second to) {
    boolean moves = second == from;
    if (moves) {
      second = to;
    }
    return moves;
  }

  private void runSecond(Runnable made, Runnable notMade) {
    if (!move(Second.QUEUED, Second.RUNNING)) {
      notMade.run();
      return;
    }
    End<T> end = new End<>(null, StateBackendException.internal("the second request ended early"));
    try {
      made.run();
      end = attempt(secondGivenUp);
    } finally {
      if (end.failure == null) {
        firstGivenUp.complete(true);
      }
      secondEnd.complete(end);
    }
  }
}
