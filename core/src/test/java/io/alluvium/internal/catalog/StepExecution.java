package io.alluvium.internal.catalog;

import io.alluvium.StateBackendException;
import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Time that passes only while somebody waits for it, and background work that runs only when a test
 * says so. Confined to one thread.
 */
final class StepExecution implements Execution {

  private final Deque<Runnable> background = new ArrayDeque<>();
  private long nanos;
  private @Nullable Error refusal;
  private @Nullable Runnable whenAsked;

  /** Runs what was handed to the background, and what that hands there. */
  void runBackground() {
    while (!background.isEmpty()) {
      background.remove().run();
    }
  }

  /** Every timer from now on. */
  void refuseTimers(Error refusal) {
    this.refusal = refusal;
  }

  /** Runs something when the time is asked for next. */
  void whenAsked(Runnable once) {
    whenAsked = once;
  }

  void pass(Duration time) {
    nanos += time.toNanos();
  }

  @Override
  public long nanoTime() {
    Runnable once = whenAsked;
    if (once != null) {
      whenAsked = null;
      once.run();
    }
    return nanos;
  }

  @Override
  public long currentTimeMillis() {
    return 1_700_000_000_000L + nanos / 1_000_000;
  }

  @Override
  public Executor uploads() {
    return background::add;
  }

  @Override
  public Executor downloads() {
    return background::add;
  }

  @Override
  public Executor materializations() {
    return background::add;
  }

  @Override
  public Scheduled schedule(Duration delay, Runnable task) {
    if (refusal != null) {
      throw refusal;
    }
    nanos += delay.toNanos();
    task.run();
    return () -> {};
  }

  @Override
  public <T> T await(CompletableFuture<T> future) {
    runBackground();
    if (!future.isDone()) {
      throw StateBackendException.internal("waits for something that nobody will do");
    }
    return future.join();
  }

  @Override
  public void close() {}
}
