package io.alluvium.internal.backend;

import org.jspecify.annotations.Nullable;

/**
 * Runs every step of a close; the first failure is thrown at the end, the others are suppressed in
 * it. Confined to one thread.
 */
final class Closing {

  private @Nullable RuntimeException first;

  void run(Runnable step) {
    try {
      step.run();
    } catch (RuntimeException e) {
      if (first == null) {
        first = e;
      } else {
        first.addSuppressed(e);
      }
    }
  }

  void rethrow() {
    if (first != null) {
      throw first;
    }
  }
}
