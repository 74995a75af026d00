package io.alluvium.internal.restore;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads that are tried again while storage does not answer, a bounded number of times with growing
 * pauses; nothing waits on a thread. Thread-safe.
 */
final class Reads {

  private static final Logger LOG = LoggerFactory.getLogger(Reads.class);

  private static final int ATTEMPTS = 5;
  private static final Duration FIRST_PAUSE = Duration.ofMillis(100);

  /** With this attempt, which is some time after the first, a person wants to know. */
  private static final int TOLD_AT = 3;

  private final Execution execution;
  private final AtomicBoolean told = new AtomicBoolean();

  Reads(Execution execution) {
    this.execution = execution;
  }

  /** Runs a blocking read on the downloads' threads. */
  <T> CompletableFuture<T> run(Supplier<T> read) {
    return retry(() -> start(read));
  }

  /** A thread that cannot be had is a failure that passes. */
  private <T> CompletableFuture<T> start(Supplier<T> read) {
    CompletableFuture<T> result = new CompletableFuture<>();
    Execution.handOff(
        execution.downloads(),
        () -> {
          try {
            result.complete(read.get());
          } catch (RuntimeException | Error e) {
            result.completeExceptionally(e);
          }
        },
        result::completeExceptionally);
    return result;
  }

  /** Starts a read, and again when it ends as {@code UNAVAILABLE}. */
  <T> CompletableFuture<T> retry(Supplier<CompletableFuture<T>> read) {
    CompletableFuture<T> result = new CompletableFuture<>();
    attempt(read, 1, result);
    return result;
  }

  private <T> void attempt(
      Supplier<CompletableFuture<T>> read, int attempt, CompletableFuture<T> result) {
    try {
      var unused =
          read.get().whenComplete((value, failure) -> end(read, attempt, result, value, failure));
    } catch (RuntimeException | Error e) {
      result.completeExceptionally(unwrap(e));
    }
  }

  /** Whatever happens here must complete the result, or somebody waits for ever. */
  private <T> void end(
      Supplier<CompletableFuture<T>> read,
      int attempt,
      CompletableFuture<T> result,
      T value,
      @Nullable Throwable failure) {
    if (failure == null) {
      result.complete(value);
      return;
    }
    if (attempt == ATTEMPTS || !isUnavailable(failure)) {
      result.completeExceptionally(unwrap(failure));
      return;
    }
    if (attempt >= TOLD_AT && told.compareAndSet(false, true)) {
      LOG.warn(
          "a restore waits for storage, {} of {} attempts at a read have failed: {}",
          attempt,
          ATTEMPTS,
          unwrap(failure).getMessage());
    }
    Execution.Scheduled unused =
        Execution.handOff(
            execution,
            FIRST_PAUSE.multipliedBy(1L << (attempt - 1)),
            () -> attempt(read, attempt + 1, result),
            refusal -> result.completeExceptionally(unwrap(failure)));
  }

  private static boolean isUnavailable(Throwable failure) {
    return unwrap(failure) instanceof StateBackendException known
        && known.kind() == Kind.UNAVAILABLE;
  }

  private static Throwable unwrap(Throwable failure) {
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? cause : failure;
  }

  /**
   * Waits until a future is done, however it ends, also when this thread is interrupted: what works
   * in the background must have stopped before what it works on is released.
   */
  static void settle(Execution execution, CompletableFuture<?> future) {
    CompletableFuture<@Nullable Void> done = future.handle((value, failure) -> null);
    boolean interrupted = Thread.interrupted();
    try {
      while (!done.isDone()) {
        try {
          execution.await(done);
        } catch (StateBackendException e) {
          if (!Thread.interrupted()) {
            throw e;
          }
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
