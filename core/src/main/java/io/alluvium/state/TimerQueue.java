package io.alluvium.state;

import org.jspecify.annotations.Nullable;

/**
 * A durable set of timers, ordered by time. The order of timers with equal times is not specified.
 * Confined to the task thread.
 */
public interface TimerQueue<K, N> {

  /**
   * Registers a timer for the backend's current key. Has no effect if the timer is already
   * registered.
   */
  void register(N namespace, long timestampMillis);

  /** Deletes a timer of the backend's current key, if there is one. */
  void delete(N namespace, long timestampMillis);

  /** The earliest timer over all key groups, or {@code null} if there is none. */
  @Nullable Timer<K, N> peek();

  /**
   * Removes and returns the earliest timer, or {@code null} if there is none. Does not change the
   * backend's current key: select the timer's key before using states.
   */
  @Nullable Timer<K, N> poll();

  boolean isEmpty();
}
