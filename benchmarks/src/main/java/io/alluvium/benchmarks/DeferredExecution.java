package io.alluvium.benchmarks;

import io.alluvium.StateBackendException;
import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * Queues background work until the benchmark calls {@link #runTasks}, so that it is measured
 * separately or not at all. Timers never fire. Confined to the benchmark's thread.
 */
final class DeferredExecution implements Execution {

  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();

  void runTasks() {
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      task.run();
    }
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public long currentTimeMillis() {
    return System.currentTimeMillis();
  }

  @Override
  public Executor uploads() {
    return tasks::add;
  }

  @Override
  public Executor downloads() {
    return tasks::add;
  }

  @Override
  public Executor materializations() {
    return tasks::add;
  }

  @Override
  public Scheduled schedule(Duration delay, Runnable task) {
    return () -> {};
  }

  @Override
  public <T> T await(CompletableFuture<T> future) {
    runTasks();
    if (!future.isDone()) {
      throw StateBackendException.internal(
          "no queued task is left that could complete this future");
    }
    return future.join();
  }

  @Override
  public void close() {}
}
