package io.alluvium.state;

import org.jspecify.annotations.Nullable;

/** One value per key and namespace. */
public non-sealed interface ValueState<V> extends State {

  /** The value, or {@code null} if there is none. */
  @Nullable V value();

  void update(V value);
}
