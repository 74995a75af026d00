package io.alluvium.serializer;

/** Two values; as immutable as they are. */
public record Pair<A, B>(A first, B second) {}
