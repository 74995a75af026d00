package io.alluvium.flink;

import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.util.function.ThrowingRunnable;

/**
 * A task's mail, a clock and a background thread that run a step at a time, when a test says so, on
 * its own thread. Each look at the clock takes a moment.
 */
final class ManualTask implements Execution, MailboxExecutor {

  private static final long MOMENT_NANOS = 20_000;

  private record Later(long atNanos, long order, Runnable task) {}

  private final PriorityQueue<Later> scheduled =
      new PriorityQueue<>(Comparator.comparingLong(Later::atNanos).thenComparing(Later::order));
  private final ArrayDeque<Runnable> background = new ArrayDeque<>();
  private final ArrayDeque<ThrowingRunnable<? extends Exception>> mail = new ArrayDeque<>();
  private long nanos;
  private long order;
  private boolean refusing;

  /**
   * Whether work for a timer or another thread is refused, as where threads are limited; not with
   * the error of the JVM, at which JUnit stops.
   */
  void refuse(boolean now) {
    refusing = now;
  }

  private void checkThreads() {
    if (refusing) {
      throw new InternalError("unable to create native thread");
    }
  }

  long millis() {
    return nanos / 1_000_000;
  }

  boolean hasMail() {
    return !mail.isEmpty();
  }

  boolean hasPlans() {
    return !scheduled.isEmpty();
  }

  /** Does one thing that is due by then, if there is any: background work, or a piece of mail. */
  boolean stepUntil(long untilNanos) throws Exception {
    Runnable work = background.poll();
    if (work != null) {
      work.run();
      return true;
    }
    ThrowingRunnable<? extends Exception> letter = mail.poll();
    if (letter != null) {
      letter.run();
      return true;
    }
    Later next = scheduled.peek();
    if (next == null || next.atNanos() > untilNanos) {
      return false;
    }
    scheduled.remove();
    nanos = Math.max(nanos, next.atNanos());
    next.task().run();
    return true;
  }

  boolean step() throws Exception {
    return stepUntil(Long.MAX_VALUE);
  }

  /** Lets time pass, with all that is to be done meanwhile. */
  void pass(Duration time) throws Exception {
    long until = nanos + time.toNanos();
    while (stepUntil(until)) {
      // until nothing is due any more
    }
    nanos = Math.max(nanos, until);
  }

  /** Lets time pass in which the task's threads do nothing. */
  void sleep(Duration time) {
    nanos += time.toNanos();
  }

  @Override
  public long nanoTime() {
    nanos += MOMENT_NANOS;
    return nanos;
  }

  @Override
  public long currentTimeMillis() {
    return millis();
  }

  @Override
  public Executor uploads() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Executor downloads() {
    return work -> {
      checkThreads();
      background.add(work);
    };
  }

  @Override
  public Executor materializations() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Scheduled schedule(Duration delay, Runnable task) {
    checkThreads();
    Later later = new Later(nanos + delay.toNanos(), order++, task);
    scheduled.add(later);
    return () -> scheduled.remove(later);
  }

  @Override
  public <T> T await(CompletableFuture<T> future) {
    return future.join();
  }

  @Override
  public void close() {}

  @Override
  public void execute(
      MailOptions options,
      ThrowingRunnable<? extends Exception> command,
      String description,
      Object... arguments) {
    mail.add(command);
  }

  @Override
  public void yield() {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean tryYield() {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean shouldInterrupt() {
    return false;
  }
}
