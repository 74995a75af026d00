package io.alluvium.dstl;

import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import org.jspecify.annotations.Nullable;

/**
 * A sealed run of changes on its way into the store. What it is called never changes; the rest is
 * guarded by the lock of the {@link Uploader}.
 */
final class Block {

  /*
   *   ENCODING -> QUEUED -> UPLOADING -> STORED
   *       \_________\___________\______-> DROPPED   (its changelog was closed, or trimmed beyond it)
   *
   * Buffers: `raw` belongs to the encoding task until that has ended; `encoded` to the queue, then to the segment's
   * upload until no attempt reads it any more (L6a). Dropping a block never frees what somebody still reads.
   */
  enum State {
    ENCODING,
    QUEUED,
    UPLOADING,
    STORED,
    DROPPED
  }

  final BlockLedger ledger;
  final long fromSqn;
  final long toSqn;

  /** Bytes as appended. */
  final int rawLength;

  /** Bytes as appended of all blocks of the changelog before this one. */
  final long bytesBefore;

  State state = State.ENCODING;

  /** Its place in the order of sealing of the whole process. */
  long ticket;

  int encodingFailures;

  BufferPool.@Nullable Buffer raw;
  BlockEncoder.@Nullable Encoded encoded;
  @Nullable SegmentUpload upload;
  @Nullable BlockRef ref;

  Block(
      BlockLedger ledger,
      long fromSqn,
      long toSqn,
      long bytesBefore,
      BufferPool.Buffer raw,
      int rawLength) {
    this.ledger = ledger;
    this.fromSqn = fromSqn;
    this.toSqn = toSqn;
    this.bytesBefore = bytesBefore;
    this.raw = raw;
    this.rawLength = rawLength;
  }

  boolean overlaps(long from, long to) {
    return fromSqn < to && toSqn > from;
  }

  /** The segment it stands in or is being written to. */
  @Nullable BlobName blob() {
    return upload == null ? null : upload.name();
  }
}
