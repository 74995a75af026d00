package io.alluvium.state;

/** Values of one type, combined by an associative function into one value of the same type. */
public non-sealed interface ReducingState<V> extends AppendingState<V, V> {}
