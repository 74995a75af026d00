package io.alluvium.dstl;

import io.alluvium.StateBackendException;
import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Everything on the test's thread: background tasks wait until {@link #runTasks} or an await runs
 * them, time stands still until {@link #pass} or an await that nothing else can end. A task that
 * throws ends as on a thread of a pool: nobody but {@link #uncaught} hears of it.
 */
final class StepExecution implements Execution {

  private record Timer(long dueNanos, long order, Runnable task) {}

  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final PriorityQueue<Timer> timers =
      new PriorityQueue<>(
          Comparator.comparingLong(Timer::dueNanos).thenComparingLong(Timer::order));
  private long nanos;
  private long order;
  private final List<Throwable> uncaught = new ArrayList<>();
  private IntFunction<@Nullable Throwable> refusal = point -> null;
  private int points;

  /**
   * From now on hand-offs, timers and the start of work in the background are counted from 1, and
   * those for which {@code refusal} gives an exception or an error throw it.
   */
  void refuse(IntFunction<@Nullable Throwable> byPoint) {
    points = 0;
    refusal = byPoint;
  }

  /** How many there were since {@link #refuse}. */
  int points() {
    return points;
  }

  /** What ended tasks. */
  List<Throwable> uncaught() {
    return uncaught;
  }

  private void point() {
    Throwable thrown = refusal.apply(++points);
    if (thrown instanceof Error error) {
      throw error;
    } else if (thrown instanceof RuntimeException exception) {
      throw exception;
    }
  }

  private void run(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      uncaught.add(e);
    }
  }

  private void add(Runnable task) {
    point();
    tasks.add(task);
  }

  @Override
  public void giveWay() {
    point();
  }

  /** Runs background tasks until none is left. */
  void runTasks() {
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      run(task);
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
    run(timer.task);
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
    return this::add;
  }

  @Override
  public Executor downloads() {
    return this::add;
  }

  @Override
  public Executor materializations() {
    return this::add;
  }

  @Override
  public Scheduled schedule(Duration delay, Runnable task) {
    point();
    Timer timer = new Timer(nanos + delay.toNanos(), order++, task);
    timers.add(timer);
    return () -> timers.remove(timer);
  }

  /** May be called by a background task too: what waits then runs on top of it. */
  @Override
  public <T> T await(CompletableFuture<T> future) {
    while (!future.isDone()) {
      if (Thread.currentThread().isInterrupted()) {
        throw StateBackendException.unavailable("interrupted", new InterruptedException());
      }
      Runnable task = tasks.poll();
      if (task != null) {
        run(task);
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
