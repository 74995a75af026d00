package io.alluvium.state;

import org.jspecify.annotations.Nullable;

/** An accumulation per key and namespace: what reducing and aggregating states have in common. */
public sealed interface AppendingState<IN, OUT> extends State
    permits ReducingState, AggregatingState {

  /** The accumulated result, or {@code null} when nothing was added. */
  @Nullable OUT get();

  void add(IN value);
}
