package io.alluvium.internal.backend;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.spi.KeyLayout;
import org.jspecify.annotations.Nullable;

/**
 * The current key of a backend, serialized once when it is selected. Confined to the task thread.
 *
 * <p>The key group is a hash (MurmurHash3, 32 bit, Austin Appleby) of the key's serialized bytes,
 * so that it depends on nothing but the stored form.
 */
public final class KeyContext<K> {

  private final Serializer<K> serializer;
  private final KeyGroupRange keyGroups;
  private final int maxParallelism;
  private final ByteWriter bytes = new ByteWriter();
  private final ByteWriter scratch = new ByteWriter();
  private @Nullable K current;
  private int keyGroup;

  public KeyContext(Serializer<K> serializer, int maxParallelism, KeyGroupRange keyGroups) {
    this.serializer = serializer;
    this.maxParallelism = maxParallelism;
    this.keyGroups = keyGroups;
  }

  public void setCurrentKey(K key) {
    bytes.clear();
    serializer.write(key, bytes);
    int group = keyGroupOf(bytes.array(), bytes.length(), maxParallelism);
    if (!keyGroups.contains(group)) {
      current = null;
      throw StateBackendException.invalid(
          "key '"
              + key
              + "' belongs to key group "
              + group
              + ", outside this subtask's "
              + keyGroups);
    }
    current = key;
    keyGroup = group;
  }

  public K currentKey() {
    if (current == null) {
      throw StateBackendException.invalid(
          "no key is selected; call setCurrentKey before using a state");
    }
    return current;
  }

  public int keyGroupOf(K key) {
    scratch.clear();
    serializer.write(key, scratch);
    return keyGroupOf(scratch.array(), scratch.length(), maxParallelism);
  }

  public Serializer<K> serializer() {
    return serializer;
  }

  public KeyGroupRange keyGroups() {
    return keyGroups;
  }

  /**
   * Clears {@code out} and writes key group, state id and the current key; the namespace comes
   * next.
   */
  public void startKey(ByteWriter out, int stateId) {
    if (current == null) {
      currentKey();
    }
    out.clear();
    KeyLayout.writeState(out, keyGroup, stateId);
    out.writeVarInt(bytes.length());
    out.writeBytes(bytes.array(), 0, bytes.length());
  }

  /** The key group of the current key. */
  public int currentKeyGroup() {
    if (current == null) {
      currentKey();
    }
    return keyGroup;
  }

  private static int keyGroupOf(byte[] key, int length, int maxParallelism) {
    return (murmur3(key, length) & Integer.MAX_VALUE) % maxParallelism;
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
