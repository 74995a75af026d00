package io.alluvium.spi;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.execution.ThreadedExecution;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Time and threads, so that the whole protocol can run on real threads or, in a simulation, one
 * step at a time from one seed. Nothing else in Alluvium asks for the time, starts a thread or
 * waits. Thread-safe.
 */
public interface Execution extends AutoCloseable {

  /**
   * Real time and real threads.
   *
   * @param uploads threads for log segments and compression
   * @param downloads threads for restores
   * @param materializations how many materializations run at once
   */
  static Execution threads(int uploads, int downloads, int materializations) {
    return new ThreadedExecution(new ThreadedExecution.Sizes(uploads, downloads, materializations));
  }

  /**
   * Daemon threads for a host's own pools that, as those of {@link #threads}, keep nothing of who
   * asked for them, such as the class loader of a job that ends before they do.
   *
   * @param name of the threads, to which a number is added
   */
  static ThreadFactory threadFactory(String name) {
    return ThreadedExecution.threadFactory(name);
  }

  /**
   * Gives a task to an executor. An executor that cannot start a thread throws an error at the
   * thread that hands the task over, which is seldom the one that depends on it; so whoever hands
   * work over says what its failure means.
   *
   * @param refused told instead of an exception when the task will not run: {@code CLOSED} when the
   *     executor takes no more, else {@code UNAVAILABLE}; on this thread
   */
  static void handOff(Executor to, Runnable task, Consumer<StateBackendException> refused) {
    StateBackendException refusal;
    try {
      to.execute(task);
      return;
    } catch (RuntimeException | Error e) {
      refusal = refusal(e);
    }
    refused.accept(refusal);
  }

  /**
   * As {@link #handOff(Executor, Runnable, Consumer)}, after a delay on the scheduler's thread. A
   * task that was refused may run all the same: a scheduler may keep what it failed to start a
   * thread for.
   *
   * @param task short; does not block
   * @return the task; of a refused one a stand-in
   */
  static Scheduled handOff(
      Execution to, Duration delay, Runnable task, Consumer<StateBackendException> refused) {
    StateBackendException refusal;
    try {
      return to.schedule(delay, task);
    } catch (RuntimeException | Error e) {
      refusal = refusal(e);
    }
    refused.accept(refusal);
    return () -> {};
  }

  private static StateBackendException refusal(Throwable failure) {
    if (failure instanceof RejectedExecutionException
        || (failure instanceof StateBackendException known && known.kind() == Kind.CLOSED)) {
      return StateBackendException.of(
          Kind.CLOSED,
          "the state backend of this process is closed, and its threads have stopped",
          failure);
    }
    return StateBackendException.unavailable(
        "no thread could be had (" + failure + "); threads may be limited for this process",
        failure);
  }

  /** A scheduled task that has not run yet. */
  interface Scheduled {
    /** Best effort: a task that is running is not interrupted. */
    void cancel();
  }

  /** Monotonic time, for durations. */
  long nanoTime();

  /** Wall-clock time, for people; never for a decision of the protocol. */
  long currentTimeMillis();

  /** Threads for log segments and compression; bounded, never blocked by materializations. */
  Executor uploads();

  /** Threads for reading blobs at a restore and for replay. */
  Executor downloads();

  /** Threads for materializations; at most k run at once. */
  Executor materializations();

  /** Threads for second requests beside slow ones; such a request waits for nothing else. */
  default Executor hedges() {
    return uploads();
  }

  /**
   * Runs a short task on the scheduler's thread after a delay; it must not block or run user code.
   */
  Scheduled schedule(Duration delay, Runnable task);

  /**
   * Waits for a future; the only way to wait. Throws what the future failed with: a {@code
   * StateBackendException} unwrapped, anything else as {@code INTERNAL}. An interrupt is restored
   * and becomes {@code UNAVAILABLE}.
   */
  <T> T await(CompletableFuture<T> future);

  /**
   * Runs what goes first: the part of a checkpoint on its task's thread, which is short and must
   * not be held up. Until it is over, threads that {@link #giveWay} wait.
   */
  default <T> T first(Supplier<T> part) {
    return part.get();
  }

  /**
   * Waits a moment before some work, and for what goes {@link #first}. On a busy machine the system
   * may run a woken thread in the place of the one that woke it, or of any other, for as long as it
   * has work.
   */
  default void giveWay() {}

  /** Stops the threads; tasks that have not started are dropped. */
  @Override
  void close();
}
