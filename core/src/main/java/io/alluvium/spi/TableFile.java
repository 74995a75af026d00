package io.alluvium.spi;

/**
 * A durable file of a materialization. Immutable.
 *
 * @param name local name, under which the table finds it again
 * @param blob where its bytes are
 * @param crc32c checksum of all its bytes
 * @param immutable see {@link TableSnapshot.File#immutable()}
 */
public record TableFile(
    String name, BlobName blob, long sizeBytes, int crc32c, boolean immutable) {}
