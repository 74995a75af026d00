package io.alluvium.internal.state;

import io.alluvium.internal.backend.KeyContext;
import io.alluvium.internal.backend.TaskThread;
import io.alluvium.internal.backend.WritePath;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;

/**
 * What all states of one backend share: the write path, the current key, and the buffers that a key
 * and a value are encoded into. Confined to the task thread.
 *
 * <p>No user code but serializers runs between filling a buffer and using it; so one set of buffers
 * is enough for all states, however they call each other.
 */
final class StateAccess<K> {

  /** Buffers above this size are given back after use: one huge list must not stay for ever. */
  private static final int KEPT_BUFFER_BYTES = 4 << 20;

  final WritePath writePath;
  final KeyContext<K> keyContext;
  private final TaskThread task;
  final OpenScans scans = new OpenScans();
  final ByteWriter key = new ByteWriter();
  final ByteReader reader = new ByteReader();
  private ByteWriter value = new ByteWriter();
  private ByteWriter scratch = new ByteWriter();

  StateAccess(WritePath writePath, KeyContext<K> keyContext) {
    this.writePath = writePath;
    this.keyContext = keyContext;
    this.task = keyContext.task();
  }

  ByteWriter value() {
    return value;
  }

  /** The value buffer, empty. */
  ByteWriter clearValue() {
    if (value.array().length > KEPT_BUFFER_BYTES) {
      value = new ByteWriter();
    }
    value.clear();
    return value;
  }

  /** A second buffer, empty. */
  ByteWriter clearScratch() {
    if (scratch.array().length > KEPT_BUFFER_BYTES) {
      scratch = new ByteWriter();
    }
    scratch.clear();
    return scratch;
  }

  /**
   * Begins a use of a state, before anything that all states share is touched: {@code INVALID} on a
   * thread that is not the task's. Once closed, every thread is told {@code CLOSED} by what
   * follows.
   */
  void enter(String call, String of) {
    if (!task.isMine()) {
      checkOpen();
      task.own(call + of);
    }
  }

  boolean isOpen() {
    return writePath.isOpen();
  }

  void checkOpen() {
    writePath.checkOpen();
  }
}
