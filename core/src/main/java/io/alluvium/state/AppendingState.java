package io.alluvium.state;

import org.jspecify.annotations.Nullable;

/** An accumulated value per key and namespace; common base of reducing and aggregating states. */
public sealed interface AppendingState<IN, OUT> extends State
    permits ReducingState, AggregatingState {

  /** The accumulated result, or {@code null} if no value was added. */
  @Nullable OUT get();

  void add(IN value);
}
