package io.alluvium.internal.backend;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The one thread that a keyed backend belongs to: the first that uses it, until that thread ends or
 * hands the backend over. Thread-safe. Looking costs one load, so that it is done for every read
 * and write of a state.
 */
public final class TaskThread {

  private static final VarHandle OWNER;

  static {
    try {
      OWNER = MethodHandles.lookup().findVarHandle(TaskThread.class, "owner", Thread.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final KeyGroupRange keyGroups;
  private volatile @Nullable Thread owner;

  /**
   * @param keyGroups of the backend, for messages
   */
  TaskThread(KeyGroupRange keyGroups) {
    this.keyGroups = keyGroups;
  }

  /**
   * Whether it is the calling thread's. A thread sees what it wrote itself last, or something that
   * came after that; so no order between threads is needed.
   */
  public boolean isMine() {
    return (Thread) OWNER.getOpaque(this) == Thread.currentThread();
  }

  /** From the first call on the backend belongs to the calling thread; {@code INVALID} if not. */
  public void own(String call) {
    if (!isMine()) {
      become(call);
    }
  }

  private void become(String call) {
    Thread before = owner;
    if ((before != null && before.isAlive())
        || !OWNER.compareAndSet(this, before, Thread.currentThread())) {
      throw foreign(call);
    }
  }

  /** {@code INVALID} when it belongs to another thread; does not make it the caller's. */
  void check(String call) {
    Thread current = owner;
    if (current != null && current != Thread.currentThread() && current.isAlive()) {
      throw foreign(call);
    }
  }

  /** The next thread that uses the backend owns it. */
  void handOver() {
    check("handOver");
    owner = null;
  }

  private StateBackendException foreign(String call) {
    Thread current = owner;
    return StateBackendException.invalid(
        call
            + " was called by thread '"
            + Thread.currentThread().getName()
            + "', but the keyed backend of key groups "
            + keyGroups
            + " belongs to thread '"
            + (current == null ? "?" : current.getName())
            + "', and two threads must not use one; send the call to that thread, for example through"
            + " its queue or mailbox, make a keyed backend for each thread, or let that thread call"
            + " handOver when it is done"
            + (call.equals("close") ? ", or close the StateBackend" : ""));
  }
}
