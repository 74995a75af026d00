package io.alluvium.state;

/** Values folded into an accumulator by an {@link AggregateFunction}. */
public non-sealed interface AggregatingState<IN, OUT> extends AppendingState<IN, OUT> {}
