package io.alluvium.state;

/** A timer of a key and a namespace, due at {@code timestampMillis}. Immutable. */
public record Timer<K, N>(long timestampMillis, K key, N namespace) {}
