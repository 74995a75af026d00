package io.alluvium.spi;

import java.time.Instant;

/**
 * A listed blob. Immutable.
 *
 * @param name relative to the store
 * @param lastModified by the store's clock; shown to people and used for the grace period of an
 *     outside collection, never for ownership
 */
public record BlobInfo(String name, long sizeBytes, Instant lastModified) {}
