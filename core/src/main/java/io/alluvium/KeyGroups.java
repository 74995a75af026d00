package io.alluvium;

import io.alluvium.internal.arguments.Arguments;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;

/**
 * Tells the key group of a key without a backend, for whoever routes records to subtasks; agrees
 * with {@link KeyedBackend#keyGroupOf}. Confined to one thread.
 *
 * <p>The key group is a hash (MurmurHash3, 32 bit, Austin Appleby) of the key's serialized bytes,
 * so that it depends on nothing but the stored form.
 *
 * @param <K> type of the keys
 */
public final class KeyGroups<K> {

  private final Serializer<K> serializer;
  private final int maxParallelism;
  private final ByteWriter scratch = new ByteWriter();

  /**
   * @param maxParallelism number of key groups of the job, from 1 to {@value
   *     KeyGroupRange#MAX_KEY_GROUPS}
   */
  public KeyGroups(Serializer<K> serializer, int maxParallelism) {
    Arguments.check(serializer, "serializer");
    if (maxParallelism < 1 || maxParallelism > KeyGroupRange.MAX_KEY_GROUPS) {
      throw StateBackendException.invalid(
          "maximum parallelism "
              + maxParallelism
              + " must lie within [1, "
              + KeyGroupRange.MAX_KEY_GROUPS
              + "]");
    }
    this.serializer = serializer;
    this.maxParallelism = maxParallelism;
  }

  /** The key group of a key, from 0 to the maximum parallelism, exclusive. */
  public int of(K key) {
    Arguments.check(key, "key");
    scratch.clear();
    serializer.write(key, scratch);
    return ofBytes(scratch.array(), scratch.length(), maxParallelism);
  }

  /** The key group of a key whose serialized form is the first {@code length} bytes. */
  public static int ofBytes(byte[] key, int length, int maxParallelism) {
    return (murmur3(Arguments.notNull(key, "key"), length) & Integer.MAX_VALUE) % maxParallelism;
  }

  private static int murmur3(byte[] key, int length) {
    int hash = 0;
    int at = 0;
    for (; at + 4 <= length; at += 4) {
      int block =
          (key[at] & 0xff)
              | (key[at + 1] & 0xff) << 8
              | (key[at + 2] & 0xff) << 16
              | (key[at + 3] & 0xff) << 24;
      hash = Integer.rotateLeft(hash ^ scramble(block), 13) * 5 + 0xe6546b64;
    }
    int tail = 0;
    for (int shift = 0; at < length; at++, shift += 8) {
      tail |= (key[at] & 0xff) << shift;
    }
    hash ^= scramble(tail) ^ length;
    hash = (hash ^ hash >>> 16) * 0x85ebca6b;
    hash = (hash ^ hash >>> 13) * 0xc2b2ae35;
    return hash ^ hash >>> 16;
  }

  private static int scramble(int block) {
    return Integer.rotateLeft(block * 0xcc9e2d51, 15) * 0x1b873593;
  }
}
