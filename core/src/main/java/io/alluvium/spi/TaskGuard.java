package io.alluvium.spi;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A {@link UseGuard} with one user at a time, the task, whose calls may tell others of what
 * happened: a callback that closes from within such a call does not wait for itself. Thread-safe.
 */
public final class TaskGuard {

  private final UseGuard guard;
  private volatile @Nullable Thread user;

  /**
   * @param what is guarded, for messages
   */
  public TaskGuard(String what) {
    this.guard = new UseGuard(what, () -> {});
  }

  /** As {@link UseGuard#enter}. */
  public void enter() {
    guard.enter();
    user = Thread.currentThread();
  }

  /** As {@link UseGuard#tryEnter}. */
  public boolean tryEnter() {
    if (!guard.tryEnter()) {
      return false;
    }
    user = Thread.currentThread();
    return true;
  }

  public void exit() {
    user = null;
    guard.exit();
  }

  /**
   * Refuses new uses; idempotent.
   *
   * @return done when the running use has ended; at once if the caller is in it
   */
  public CompletableFuture<Void> close() {
    CompletableFuture<Void> ended = guard.close();
    return user == Thread.currentThread() ? CompletableFuture.completedFuture(null) : ended;
  }
}
