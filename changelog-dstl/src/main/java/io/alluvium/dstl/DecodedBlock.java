package io.alluvium.dstl;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.spi.ChangeBlock;
import io.alluvium.spi.ChangeCursor;

/** The verified chunks of one block that hold the key groups asked for. Immutable. */
final class DecodedBlock implements ChangeBlock {

  private static final byte[] NOTHING = new byte[0];

  private final BlockHead head;
  private final KeyGroupRange wanted;
  private final byte[] raw;
  private final int rawBase;

  /**
   * @param raw the raw form of a run of chunks that covers {@code wanted}
   * @param rawBase raw offset of its first byte
   */
  DecodedBlock(BlockHead head, KeyGroupRange wanted, byte[] raw, int rawBase) {
    this.head = head;
    this.wanted = wanted;
    this.raw = raw;
    this.rawBase = rawBase;
  }

  BlockHead head() {
    return head;
  }

  @Override
  public long sizeBytes() {
    // Beside the changes: three numbers per key group, and the objects themselves.
    return raw.length + 12L * head.entries() + 256;
  }

  @Override
  public ChangeCursor changes(int keyGroup) {
    if (!wanted.contains(keyGroup)) {
      throw StateBackendException.invalid(
          "key group " + keyGroup + " was not asked for, only " + wanted + " of this block");
    }
    int entry = head.entryAtOrAbove(keyGroup);
    if (entry == head.entries() || head.keyGroup(entry) != keyGroup) {
      return new BlockCursor(head, NOTHING, 0, 0, 0, 0);
    }
    int from = head.keyGroupRawAt(entry);
    int to = head.keyGroupRawAt(entry + 1);
    long chunkOffset = head.payloadOffset() + head.chunkStoredAt(head.chunkOf(from));
    return new BlockCursor(head, raw, from - rawBase, to - rawBase, head.count(entry), chunkOffset);
  }
}
