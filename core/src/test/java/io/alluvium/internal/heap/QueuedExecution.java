package io.alluvium.internal.heap;

import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** Queues background work until the test runs it on its own thread. */
final class QueuedExecution implements Execution {

  final ArrayDeque<Runnable> tasks = new ArrayDeque<>();

  /** Thrown when background work is submitted, if set. */
  @Nullable Error failure;

  void runAll() {
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      task.run();
    }
  }

  @Override
  public Executor materializations() {
    return task -> {
      if (failure != null) {
        throw failure;
      }
      tasks.add(task);
    };
  }

  @Override
  public Executor uploads() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Executor downloads() {
    throw new UnsupportedOperationException();
  }

  @Override
  public long nanoTime() {
    return 0;
  }

  @Override
  public long currentTimeMillis() {
    return 0;
  }

  @Override
  public Scheduled schedule(Duration delay, Runnable task) {
    throw new UnsupportedOperationException();
  }

  @Override
  public <T> T await(CompletableFuture<T> future) {
    return future.join();
  }

  @Override
  public void close() {}
}
