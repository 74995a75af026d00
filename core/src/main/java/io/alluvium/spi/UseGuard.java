package io.alluvium.spi;

import io.alluvium.StateBackendException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.CompletableFuture;

/**
 * Keeps what some threads use alive while another closes it: native memory above all. A user enters
 * and leaves; closing refuses new users at once, and the last one to leave, or else the closer,
 * frees. A user that never leaves keeps what it uses; one that is dead has left. Thread-safe.
 */
public final class UseGuard {

  /*
   * One word: how many are inside, and in its sign whether it is closed. A user that finds it closed never counts itself,
   * so that the count reaches zero once after closing. Both entering and leaving are a full fence: with less, a user that
   * leaves and a closer that comes may each miss the other. That costs a few nanoseconds, which a call into RocksDB
   * does not notice; docs/design-decisions.md has the figures and what else was weighed.
   */
  private static final int CLOSED = Integer.MIN_VALUE;

  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(UseGuard.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final String what;
  private final Runnable release;
  private final CompletableFuture<Void> released = new CompletableFuture<>();

  @SuppressWarnings("UnusedVariable") // written through STATE
  private volatile int state;

  /**
   * @param what is guarded, for messages
   * @param release frees it; runs once, on the thread of the last user or of the closer
   */
  public UseGuard(String what, Runnable release) {
    this.what = what;
    this.release = release;
  }

  /** Whether it is being closed; then a user inside should end soon. */
  public boolean isClosed() {
    return state < 0;
  }

  public StateBackendException closedException() {
    return StateBackendException.closed(what + " is closed");
  }

  /** Starts a use, or throws {@code CLOSED}; each one that returns is followed by {@link #exit}. */
  public void enter() {
    if (!tryEnter()) {
      throw closedException();
    }
  }

  /** As {@link #enter}; false when it is closed. */
  public boolean tryEnter() {
    for (int seen = state; seen >= 0; seen = state) {
      if (STATE.compareAndSet(this, seen, seen + 1)) {
        return true;
      }
    }
    return false;
  }

  public void exit() {
    if ((int) STATE.getAndAdd(this, -1) == CLOSED + 1) {
      free();
    }
  }

  /**
   * Refuses new users from now on.
   *
   * @return true for the first call, which then is a user itself and calls {@link #exit} when it
   *     has asked those inside to end
   */
  public boolean shut() {
    for (int seen = state; seen >= 0; seen = state) {
      if (STATE.compareAndSet(this, seen, (seen + 1) | CLOSED)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Refuses new users and frees when the last one has left; idempotent.
   *
   * @return as {@link #released}
   */
  public CompletableFuture<Void> close() {
    if (shut()) {
      exit();
    }
    return released;
  }

  /** Done when it is freed, failed when freeing failed. */
  public CompletableFuture<Void> released() {
    return released;
  }

  /**
   * Waits until it is freed. An interrupt from before the call is kept for afterwards: users leave
   * within moments, and what they use must not outlive the close. An interrupt during the wait ends
   * it with {@code UNAVAILABLE}, so that a user that never leaves does not block for ever.
   */
  public void awaitReleased(Execution execution) {
    boolean interrupted = Thread.interrupted();
    try {
      execution.await(released);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
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
