package io.alluvium.serializer;

/** Two values. As immutable and thread-safe as they are. */
public record Pair<A, B>(A first, B second) {}
