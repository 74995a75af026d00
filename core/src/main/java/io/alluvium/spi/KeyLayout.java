package io.alluvium.spi;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import java.nio.charset.StandardCharsets;

/**
 * How every key of a table and a changelog is laid out.
 *
 * <pre>
 *   0          2                                                                                    end
 *   | key group | state id | key length | key | namespace length | namespace | user key                |
 *   |  2 bytes  |  varint  |   varint   |     |      varint      |           | map state, timers only  |
 *   |&lt;-------------------------------- row -----------------------------------&gt;|
 * </pre>
 *
 * <p>The key group is big endian and comes first, so that one key group is one contiguous range
 * over all states. The lengths make the layout unambiguous and each row (one key and namespace of
 * one state) one contiguous range. Timers stand in the row of the empty key and the empty
 * namespace, ordered by the rest.
 */
public final class KeyLayout {

  /** Bytes of the key group. */
  public static final int KEY_GROUP_BYTES = 2;

  /** Ids take at most four bytes as a varint. */
  private static final int ID_BITS = 28;

  private static final int FNV_OFFSET = 0x811c9dc5;
  private static final int FNV_PRIME = 0x01000193;

  private KeyLayout() {}

  /**
   * The id of a state: FNV-1a (32 bit) of its name in UTF-8, the upper 4 bits folded onto the lower
   * ones.
   */
  public static int stateId(String name) {
    int hash = FNV_OFFSET;
    for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
      hash = (hash ^ (b & 0xff)) * FNV_PRIME;
    }
    return (hash >>> ID_BITS) ^ (hash & ((1 << ID_BITS) - 1));
  }

  public static int keyGroup(byte[] key, int offset) {
    return (key[offset] & 0xff) << 8 | (key[offset + 1] & 0xff);
  }

  /** Writes what every key of a state in a key group starts with. */
  public static void writeState(ByteWriter out, int keyGroup, int stateId) {
    out.writeShort(keyGroup);
    out.writeVarInt(stateId);
  }

  /**
   * Bytes up to the end of the row part; {@code length + 1} when the key, then a prefix, ends
   * before its row does.
   */
  public static int rowLength(byte[] key, int offset, int length) {
    int limit = offset + length;
    int at = skipVarInt(key, offset + KEY_GROUP_BYTES, limit);
    at = skipBytes(key, at, limit);
    at = skipBytes(key, at, limit);
    return at - offset;
  }

  private static int skipVarInt(byte[] key, int start, int limit) {
    int at = start;
    while (at < limit) {
      if (key[at++] >= 0) {
        return at;
      }
    }
    return limit + 1;
  }

  /** Skips a varint length and that many bytes. */
  private static int skipBytes(byte[] key, int start, int limit) {
    int count = 0;
    int at = start;
    for (int shift = 0; at < limit; shift += 7) {
      if (shift > 28) {
        throw StateBackendException.corrupt("a key holds a length of more than 5 bytes");
      }
      byte b = key[at++];
      count |= (b & 0x7f) << shift;
      if (b >= 0) {
        return count < 0 || count > limit - at ? limit + 1 : at + count;
      }
    }
    return limit + 1;
  }
}
