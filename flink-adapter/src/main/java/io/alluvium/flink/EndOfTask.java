package io.alluvium.flink;

import io.alluvium.spi.Execution;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.util.function.ThrowingRunnable;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs something when a task does not use its state any more. Made on the task's thread;
 * thread-safe.
 */
final class EndOfTask {

  private static final Logger LOG = LoggerFactory.getLogger(EndOfTask.class);

  /*
   * Flink closes a keyed backend from any thread and at any time, mostly while the task still runs, and a backend below its
   * adaptor for asynchronous state hears nothing after that. The last thing that a task closes is its mailbox, on its own
   * thread and after its operators. Mails that are still in it then are cancelled. So a mail that nobody takes out is a
   * notice of the end. A task that is being cancelled may take it out between two records; then the task is not inside its
   * state either, and what it may still ask for ends with CLOSED.
   *
   * A mailbox takes no more mail once its task has run to its end: on the task's own thread the operators are closed by
   * then; for another thread the end of the task's thread is the notice.
   */
  private final Environment environment;
  private final Executor background;
  private final Thread task = Thread.currentThread();

  /**
   * @param background waits for the thread of a task, if there is no other way
   */
  EndOfTask(Environment environment, Executor background) {
    this.environment = environment;
    this.background = background;
  }

  /** Does not wait. */
  void run(Runnable last) {
    MailboxExecutor mailbox = mailbox(environment);
    if (mailbox != null) {
      try {
        mailbox.execute(new Notice(last), "the keyed backend is released");
        return;
      } catch (RejectedExecutionException e) {
        LOG.debug("the task takes no more mail: {}", e.toString());
      }
    }
    if (Thread.currentThread() == task) {
      last.run();
    } else {
      Execution.handOff(
          background,
          () -> afterThread(last),
          refusal ->
              LOG.warn(
                  "the keyed backend of thread '{}' stays until the process ends: {}",
                  task.getName(),
                  refusal.getMessage()));
    }
  }

  private void afterThread(Runnable last) {
    try {
      task.join();
      last.run();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Null outside of a task. */
  static @Nullable MailboxExecutor mailbox(Environment environment) {
    try {
      return environment.getMainMailboxExecutor();
    } catch (UnsupportedOperationException | IllegalStateException e) {
      return null;
    }
  }

  /** Runs once, whether it is taken out of the mailbox or cancelled in it. */
  private static final class Notice extends FutureTask<Boolean>
      implements ThrowingRunnable<RuntimeException> {

    private @Nullable Runnable last;

    Notice(Runnable last) {
      super(() -> true);
      this.last = last;
    }

    @Override
    protected void done() {
      Runnable due = last;
      // Flink may keep the mailbox of a task that has ended.
      last = null;
      if (due != null) {
        due.run();
      }
    }
  }
}
