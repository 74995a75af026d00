package io.alluvium.dstl;

import io.alluvium.StateBackendException;
import io.alluvium.spi.ChangeCursor;
import io.alluvium.spi.Operation;

/** Walks the changes of one key group. Confined to one thread. */
final class BlockCursor implements ChangeCursor {

  private static final Operation[] OPERATIONS = {
    Operation.ofCode(1), Operation.ofCode(2), Operation.ofCode(3), Operation.ofCode(4)
  };

  private final BlockHead head;
  private final byte[] array;
  private final int limit;
  private final int count;
  private final long chunkOffset;

  private int at;
  private int seen;
  private long sqn;
  private int packed;
  private int keyOffset;
  private int keyLength;
  private int valueOffset;
  private int valueLength;

  /**
   * @param count changes that {@code [at, limit)} holds
   * @param chunkOffset where the chunk stands in the blob, for messages
   */
  BlockCursor(BlockHead head, byte[] array, int at, int limit, int count, long chunkOffset) {
    this.head = head;
    this.array = array;
    this.at = at;
    this.limit = limit;
    this.count = count;
    this.chunkOffset = chunkOffset;
    this.sqn = head.ref().fromSqn();
  }

  @Override
  public boolean next() {
    if (at == limit) {
      if (seen != count) {
        throw damaged(count + " changes", seen);
      }
      return false;
    }
    int delta = varInt();
    packed = varInt();
    keyLength = BlockFormat.keyLength(packed);
    valueLength = BlockFormat.hasValue(packed) ? varInt() : 0;
    sqn += delta;
    seen++;
    boolean rising = delta >= (seen == 1 ? 0 : 1) && sqn < head.ref().toSqn();
    if (!rising) {
      throw damaged("a sequence number below " + head.ref().toSqn() + " that rises", sqn);
    }
    if (valueLength < 0 || (long) keyLength + valueLength > limit - at) {
      throw damaged("at most " + (limit - at) + " bytes", keyLength + " and " + valueLength);
    }
    keyOffset = at;
    valueOffset = at + keyLength;
    at = valueOffset + valueLength;
    return true;
  }

  private int varInt() {
    int value = 0;
    for (int shift = 0; shift < 7 * Bytes.MAX_VARINT_LENGTH; shift += 7) {
      if (at == limit) {
        throw damaged("a whole change", "the end of its key group");
      }
      byte b = array[at++];
      value |= (b & 0x7f) << shift;
      if (b >= 0) {
        return value;
      }
    }
    throw damaged("a varint of at most 5 bytes", "a longer one");
  }

  private StateBackendException damaged(String expected, Object found) {
    return StateBackendException.corrupt(
        head.blob(), chunkOffset, expected + " (change " + seen + " of a key group)", found);
  }

  @Override
  public long sqn() {
    return sqn;
  }

  @Override
  public Operation operation() {
    return OPERATIONS[packed & 3];
  }

  @Override
  public byte[] array() {
    return array;
  }

  @Override
  public int keyOffset() {
    return keyOffset;
  }

  @Override
  public int keyLength() {
    return keyLength;
  }

  @Override
  public int valueOffset() {
    return valueOffset;
  }

  @Override
  public int valueLength() {
    return valueLength;
  }
}
