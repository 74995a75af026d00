package io.alluvium.internal.heap;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Who may change what while somebody looks at an older state of a cell. Written by the task thread;
 * {@link #release} may come from any thread.
 */
final class Versions {

  /*
   * Whoever reads a cell over a longer time pins it. Each pin starts a new epoch. A node that was made in the current
   * epoch cannot be seen by any pin and is changed in place; an older one is changed in place only when no pin is left,
   * otherwise it is copied first. A release happens before the task thread sees the number of pins go down, so that it
   * never changes what is still being read.
   */
  private static final VarHandle PINS;

  static {
    try {
      PINS = MethodHandles.lookup().findVarHandle(Versions.class, "pins", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @SuppressWarnings("unused") // read and written through PINS
  private int pins;

  private int epoch;

  int epoch() {
    return epoch;
  }

  void pin() {
    epoch++;
    PINS.getAndAdd(this, 1);
  }

  void release() {
    PINS.getAndAdd(this, -1);
  }

  boolean isPinned() {
    return (int) PINS.getAcquire(this) > 0;
  }

  /** Whether a node of that epoch must be copied before it is changed. */
  boolean isVisible(int nodeEpoch) {
    return nodeEpoch != epoch && isPinned();
  }

  /** What may be done with an entry, which does not know its epoch. */
  Entries.Sharing ofEntries() {
    return isPinned() ? Entries.Sharing.SHARED : Entries.Sharing.EXCLUSIVE;
  }
}
