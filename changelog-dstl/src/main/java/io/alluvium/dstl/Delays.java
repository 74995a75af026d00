package io.alluvium.dstl;

import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/** Runs what the log does after a pause, also when no timer can be had. Thread-safe. */
final class Delays {

  /*
   * A task whose timer is refused is overdue: it runs as soon as anybody next uses the log. That may take long, so who
   * waits for it is told by the caller, and a task thread that waits for room is woken.
   */
  private final Execution execution;
  private final Runnable whenOverdue;
  private final Queue<Runnable> overdue = new ConcurrentLinkedQueue<>();

  /**
   * @param whenOverdue runs when a timer was refused
   */
  Delays(Execution execution, Runnable whenOverdue) {
    this.execution = execution;
    this.whenOverdue = whenOverdue;
  }

  /** Runs a task once, after a pause; returns false when nobody knows when. */
  boolean run(Duration pause, Runnable task) {
    // A scheduler that failed to start its thread may have kept the task all the same.
    AtomicBoolean begun = new AtomicBoolean();
    Runnable once =
        () -> {
          if (begun.compareAndSet(false, true)) {
            task.run();
          }
        };
    try {
      Execution.Scheduled unused = execution.schedule(pause, once);
      return true;
    } catch (RuntimeException | Error e) {
      overdue.add(once);
      whenOverdue.run();
      return false;
    }
  }

  /** Whether tasks are overdue. */
  boolean isBehind() {
    return !overdue.isEmpty();
  }

  /** Runs what is overdue now. */
  void catchUp() {
    for (int left = overdue.size(); left > 0; left--) {
      Runnable task = overdue.poll();
      if (task == null) {
        return;
      }
      task.run();
    }
  }
}
