package io.alluvium.internal.heap;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Copy-on-write epochs of one partition. Confined to the task thread, except {@link #release},
 * which any thread may call.
 */
final class Epochs {

  /*
   * A scan or a snapshot pins the partition while it reads. Each pin starts a new epoch. A node of the current epoch is
   * in no pin and is changed in place. An older node is changed in place only if there are no pins; otherwise it is
   * copied first. A release happens before the task thread reads the lower number of pins. The task thread therefore
   * never changes a node that is still being read.
   */
  private static final VarHandle PINS;

  static {
    try {
      PINS = MethodHandles.lookup().findVarHandle(Epochs.class, "pins", int.class);
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

  /** Whether a node of {@code nodeEpoch} must be copied before it is changed. */
  boolean mustCopy(int nodeEpoch) {
    return nodeEpoch != epoch && isPinned();
  }

  /** Whether entries may be changed in place; entries carry no epoch. */
  Entries.Sharing entrySharing() {
    return isPinned() ? Entries.Sharing.SHARED : Entries.Sharing.EXCLUSIVE;
  }
}
