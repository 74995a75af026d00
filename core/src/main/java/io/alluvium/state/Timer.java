package io.alluvium.state;

/** A timer: due at {@code timestampMillis}, for a key and a namespace. Immutable. */
public record Timer<K, N>(long timestampMillis, K key, N namespace) {}
