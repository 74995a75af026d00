package io.alluvium.rocksdb;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.StateBackendException;
import java.util.concurrent.CompletableFuture;

/**
 * Keeps native memory alive while other threads use it. Whoever uses it enters and leaves; closing
 * refuses new users at once, and the last one to leave, or else the closer, frees. Thread-safe;
 * guarded by itself, never held while somebody works.
 */
final class UseGuard {

  private final String what;
  private final CompletableFuture<Void> released = new CompletableFuture<>();
  private final Runnable release;

  @GuardedBy("this")
  private int users;

  private volatile boolean closed;

  /**
   * @param what is guarded, for messages
   * @param release frees it; runs once
   */
  UseGuard(String what, Runnable release) {
    this.what = what;
    this.release = release;
  }

  /** Whether {@link #close} was called; then a user in flight should give up. */
  boolean isClosed() {
    return closed;
  }

  StateBackendException closedException() {
    return StateBackendException.closed(what + " is closed");
  }

  void checkOpen() {
    if (closed) {
      throw closedException();
    }
  }

  /** Starts a use, or throws {@code CLOSED}; each one that returns is followed by {@link #exit}. */
  void enter() {
    if (!tryEnter()) {
      throw closedException();
    }
  }

  boolean tryEnter() {
    synchronized (this) {
      if (closed) {
        return false;
      }
      users++;
      return true;
    }
  }

  void exit() {
    synchronized (this) {
      users--;
      if (users > 0 || !closed) {
        return;
      }
    }
    free();
  }

  /**
   * Refuses new users and frees when the last one has left; idempotent.
   *
   * @return done when it is free, failed when freeing failed
   */
  CompletableFuture<Void> close() {
    synchronized (this) {
      if (closed) {
        return released;
      }
      closed = true;
      if (users > 0) {
        return released;
      }
    }
    free();
    return released;
  }

  private void free() {
    try {
      release.run();
      released.complete(null);
    } catch (RuntimeException | Error e) {
      released.completeExceptionally(e);
    }
  }
}
