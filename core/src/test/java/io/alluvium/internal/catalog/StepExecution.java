package io.alluvium.internal.catalog;

import io.alluvium.StateBackendException;
import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * Time that passes only while somebody waits for it, and background work that runs only when a test
 * says so. Confined to one thread.
 */
final class StepExecution implements Execution {

  private final Deque<Runnable> background = new ArrayDeque<>();
  private long nanos;

  /** Runs what was handed to the background, and what that hands there. */
  void runBackground() {
    while (!background.isEmpty()) {
      background.remove().run();
    }
  }

  void pass(Duration time) {
    nanos += time.toNanos();
  }

  @Override
  public long nanoTime() {
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
