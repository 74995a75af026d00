package io.alluvium.state;

import org.jspecify.annotations.Nullable;

/**
 * A durable set of timers, ordered by time; timers of the same time have no order among them that a
 * job may rely on. Confined to the task thread.
 */
public interface TimerQueue<K, N> {

  /**
   * Registers a timer for the backend's current key. Registering the same one again changes
   * nothing.
   */
  void register(N namespace, long timestampMillis);

  /** Deletes a timer of the backend's current key, if there is one. */
  void delete(N namespace, long timestampMillis);

  /** The earliest timer over all key groups, or {@code null} when there is none. */
  @Nullable Timer<K, N> peek();

  /**
   * Removes and gives the earliest timer, or {@code null}. Does not change the backend's current
   * key: select the timer's own before its states are used.
   */
  @Nullable Timer<K, N> poll();

  boolean isEmpty();
}
