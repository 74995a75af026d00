package io.alluvium.spi;

/**
 * Where a durable block of a changelog stands. Immutable.
 *
 * @param blob name of the segment
 * @param offset of the block's first byte in the segment
 * @param length of the block in bytes, header included
 * @param fromSqn sequence number of its first change
 * @param toSqn one past the sequence number of its last change
 */
public record BlockRef(BlobName blob, long offset, int length, long fromSqn, long toSqn) {}
