package io.alluvium.internal.backend;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Runs every step of a close; the first failure is thrown at the end, the others are suppressed in
 * it. Confined to one thread.
 */
final class Closing {

  /** What was opened so far, closed in reverse, once. Confined to one thread. */
  static final class Stack implements AutoCloseable {
    private final Deque<Runnable> steps = new ArrayDeque<>();

    void push(Runnable step) {
      steps.push(step);
    }

    @Override
    public void close() {
      Closing closing = new Closing();
      while (!steps.isEmpty()) {
        closing.run(steps.pop());
      }
      closing.rethrow();
    }
  }

  private @Nullable Throwable first;

  void run(Runnable step) {
    try {
      step.run();
    } catch (RuntimeException | Error e) {
      if (first == null) {
        first = e;
      } else {
        first.addSuppressed(e);
      }
    }
  }

  void rethrow() {
    if (first instanceof Error error) {
      throw error;
    } else if (first instanceof RuntimeException exception) {
      throw exception;
    }
  }
}
