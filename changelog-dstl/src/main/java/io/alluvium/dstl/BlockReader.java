package io.alluvium.dstl;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;

/** Fetches blocks, whole or only the chunks that are needed, and verifies them. Thread-safe. */
final class BlockReader {

  /*
   * How much of a block is needed is known only when its directory has been read. So the whole block is opened, and the
   * stream is either read on or, when the chunks that are wanted are less than half of the block and do not come next,
   * closed in favour of one that covers just them. The usual restore costs one request for each block, a rescale two;
   * what is not wanted is not read.
   */
  private final BlobStore store;

  BlockReader(BlobStore store) {
    this.store = store;
  }

  DecodedBlock read(BlockRef ref, KeyGroupRange wanted) {
    check(ref);
    String blob = ref.blob().toString();
    BlockHead head;
    int firstChunk;
    int endChunk;
    long from;
    int length;
    try (BlobInput in = new BlobInput(store, blob, ref.offset(), ref.length())) {
      head = BlockHead.read(ref, in);
      int firstEntry = head.entryAtOrAbove(wanted.from());
      int endEntry = head.entryAtOrAbove(wanted.to());
      if (firstEntry >= endEntry) {
        return new DecodedBlock(head, wanted, new byte[0], 0);
      }
      firstChunk = head.chunkOf(head.keyGroupRawAt(firstEntry));
      endChunk = head.chunkOf(head.keyGroupRawAt(endEntry) - 1) + 1;
      from = head.payloadOffset() + head.chunkStoredAt(firstChunk);
      length = head.chunkStoredAt(endChunk) - head.chunkStoredAt(firstChunk);
      if (from == in.position() || length >= ref.length() / 2) {
        in.skipTo(from);
        return decode(head, wanted, in.read(length), firstChunk, endChunk);
      }
    }
    try (BlobInput part = new BlobInput(store, blob, from, length)) {
      return decode(head, wanted, part.read(length), firstChunk, endChunk);
    }
  }

  private static void check(BlockRef ref) {
    boolean possible =
        ref.offset() >= 0
            && ref.length() > BlockFormat.HEADER_LENGTH
            && ref.fromSqn() < ref.toSqn()
            && ref.toSqn() - ref.fromSqn() <= Integer.MAX_VALUE;
    if (!possible) {
      throw StateBackendException.corrupt("the block reference " + ref + " is impossible");
    }
  }

  private static DecodedBlock decode(
      BlockHead head, KeyGroupRange wanted, byte[] stored, int firstChunk, int endChunk) {
    int storedBase = head.chunkStoredAt(firstChunk);
    int rawBase = head.chunkRawAt(firstChunk);
    boolean packed = head.codec() == BlockFormat.Codec.LZ4;
    byte[] raw = packed ? new byte[head.chunkRawAt(endChunk) - rawBase] : stored;
    for (int chunk = firstChunk; chunk < endChunk; chunk++) {
      int storedAt = head.chunkStoredAt(chunk) - storedBase;
      int storedLength = head.chunkStoredAt(chunk + 1) - head.chunkStoredAt(chunk);
      int rawAt = head.chunkRawAt(chunk) - rawBase;
      int rawLength = head.chunkRawAt(chunk + 1) - head.chunkRawAt(chunk);
      long offset = head.payloadOffset() + head.chunkStoredAt(chunk);
      SegmentFormat.expectCrc(
          head.blob(), offset, "a chunk", head.chunkCrc(chunk), stored, storedAt, storedLength);
      if (!packed) {
        continue;
      }
      if (storedLength == rawLength) {
        System.arraycopy(stored, storedAt, raw, rawAt, rawLength);
      } else {
        Lz4.decompress(head.blob(), offset, stored, storedAt, storedLength, raw, rawAt, rawLength);
      }
    }
    return new DecodedBlock(head, wanted, raw, rawBase);
  }
}
