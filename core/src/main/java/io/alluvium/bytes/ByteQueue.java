package io.alluvium.bytes;

import org.jspecify.annotations.Nullable;

/**
 * A queue over keys of the table that differ only behind the row of the empty key and namespace of
 * one state:
 *
 * <pre>
 *   | key group | state id | 0 | 0 | rank, at most 8 bytes | rest |
 * </pre>
 *
 * <p>Ordered by rank, then by key group, then by the rest, all unsigned. The table holds all of
 * them, memory the first few of each key group. Confined to the task thread.
 */
public interface ByteQueue {

  /** What the table is known to hold when a queue is made. */
  enum Start {
    /** Nothing: the queue was never registered before. */
    EMPTY,
    RESTORED
  }

  /** Adds a key; false when it is there already. */
  boolean add(byte[] key, int keyLength);

  /** Removes a key; false when it is not there. */
  boolean remove(byte[] key, int keyLength);

  /**
   * The first key, as the queue's own array that must not be changed; null when there is none. The
   * same array as long as the same key is the first.
   */
  byte @Nullable [] first();

  /** Removes the key that {@link #first()} gives; at least one must be there. */
  void removeFirst();
}
