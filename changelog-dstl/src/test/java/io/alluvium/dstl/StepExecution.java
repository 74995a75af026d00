package io.alluvium.dstl;

import io.alluvium.StateBackendException;
import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;

/**
 * Everything on the test's thread: background tasks wait until {@link #runTasks} or an await runs
 * them, time stands still until {@link #pass} or an await that nothing else can end.
 */
final class StepExecution implements Execution {

  private record Timer(long dueNanos, long order, Runnable task) {}

  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final PriorityQueue<Timer> timers =
      new PriorityQueue<>(
          Comparator.comparingLong(Timer::dueNanos).thenComparingLong(Timer::order));
  private long nanos;
  private long order;

  /** Runs background tasks until none is left. */
  void runTasks() {
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      task.run();
    }
  }

  /** Lets time pass, and everything happen that is due then. */
  void pass(Duration duration) {
    long end = nanos + duration.toNanos();
    runTasks();
    while (!timers.isEmpty() && timers.peek().dueNanos <= end) {
      fireNextTimer();
      runTasks();
    }
    nanos = end;
  }

  private void fireNextTimer() {
    Timer timer = timers.remove();
    nanos = Math.max(nanos, timer.dueNanos);
    timer.task.run();
  }

  int timers() {
    return timers.size();
  }

  @Override
  public long nanoTime() {
    return nanos;
  }

  @Override
  public long currentTimeMillis() {
    return nanos / 1_000_000;
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
    Timer timer = new Timer(nanos + delay.toNanos(), order++, task);
    timers.add(timer);
    return () -> timers.remove(timer);
  }

  /** May be called by a background task too: what waits then runs on top of it. */
  @Override
  public <T> T await(CompletableFuture<T> future) {
    while (!future.isDone()) {
      Runnable task = tasks.poll();
      if (task != null) {
        task.run();
      } else if (!timers.isEmpty()) {
        fireNextTimer();
      } else {
        throw new AssertionError("nothing is left that could end this wait");
      }
    }
    try {
      return future.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof StateBackendException cause) {
        throw cause;
      }
      throw new AssertionError("a background task failed", e.getCause());
    }
  }

  @Override
  public void close() {}
}
