package io.alluvium.dstl;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.StateBackendException;
import java.util.ArrayDeque;

/**
 * The byte arrays of all changelogs of a process: active blocks, sealed blocks, encoded blocks.
 * Every array is taken once and given back once; what is out can be counted. Thread-safe; guarded
 * by {@code lock}.
 */
final class BufferPool {

  /** Where an active block ends. */
  static final int BLOCK_BYTES = 256 << 10;

  /*
   * Pooled arrays are a little longer than a full block, so that its encoded form (directory and checksums added) fits
   * into one as well. What is much shorter gets an array of its own size: a hundred small blocks that wait for a store
   * must not hold a hundred large arrays. What is longer (one large change) does too.
   */
  static final int ARRAY_BYTES = BLOCK_BYTES + (32 << 10);

  private static final int SMALL_BYTES = ARRAY_BYTES / 2;

  /** Free arrays beyond this many are left to the garbage collector: 18 MB stay. */
  private static final int MAX_FREE = 64;

  /** An array that somebody holds. Confined to its holder. */
  static final class Buffer {
    private final byte[] array;
    private boolean released;

    private Buffer(byte[] array) {
      this.array = array;
    }

    byte[] array() {
      return array;
    }

    int capacity() {
      return array.length;
    }
  }

  private final Object lock = new Object();

  @GuardedBy("lock")
  private final ArrayDeque<byte[]> free = new ArrayDeque<>();

  @GuardedBy("lock")
  private int heldBuffers;

  @GuardedBy("lock")
  private long heldBytes;

  /** A buffer for a block that is being filled. */
  Buffer takeActive() {
    return take(ARRAY_BYTES);
  }

  /** A buffer of at least {@code bytes}. */
  Buffer take(int bytes) {
    byte[] array = null;
    boolean pooled = bytes > SMALL_BYTES && bytes <= ARRAY_BYTES;
    if (pooled) {
      synchronized (lock) {
        array = free.pollLast();
      }
    }
    if (array == null) {
      array = new byte[pooled ? ARRAY_BYTES : bytes];
    }
    synchronized (lock) {
      heldBuffers++;
      heldBytes += array.length;
    }
    return new Buffer(array);
  }

  /** Gives a buffer back; nobody may read or write it any more. */
  void release(Buffer buffer) {
    synchronized (lock) {
      account(buffer);
      if (buffer.array.length == ARRAY_BYTES && free.size() < MAX_FREE) {
        free.addLast(buffer.array);
      }
    }
  }

  /** Gives up a buffer that its former holder may still touch: it is never handed out again. */
  void forget(Buffer buffer) {
    synchronized (lock) {
      account(buffer);
    }
  }

  @GuardedBy("lock")
  private void account(Buffer buffer) {
    if (buffer.released) {
      throw StateBackendException.internal("a buffer of the changelog was released twice");
    }
    buffer.released = true;
    heldBuffers--;
    heldBytes -= buffer.array.length;
  }

  int heldBuffers() {
    synchronized (lock) {
      return heldBuffers;
    }
  }

  long heldBytes() {
    synchronized (lock) {
      return heldBytes;
    }
  }

  int freeArrays() {
    synchronized (lock) {
      return free.size();
    }
  }
}
