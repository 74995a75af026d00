package io.alluvium.internal.backend;

import io.alluvium.KeyGroupRange;
import io.alluvium.KeyGroups;
import io.alluvium.StateBackendException;
import io.alluvium.internal.state.Codec;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.spi.KeyLayout;
import org.jspecify.annotations.Nullable;

/**
 * The current key of a backend, serialized once when it is selected. Confined to the task thread.
 */
public final class KeyContext<K> {

  private final Serializer<K> serializer;
  private final Codec<K> codec;
  private final KeyGroupRange keyGroups;
  private final int maxParallelism;
  private final TaskThread task;
  private final ByteWriter bytes = new ByteWriter();
  private final ByteWriter scratch = new ByteWriter();
  private @Nullable K current;
  private int keyGroup;

  public KeyContext(Serializer<K> serializer, int maxParallelism, KeyGroupRange keyGroups) {
    this.serializer = serializer;
    this.codec = Codec.ofAddresses(serializer, "a key");
    this.maxParallelism = maxParallelism;
    this.keyGroups = keyGroups;
    this.task = new TaskThread(keyGroups);
  }

  /** The thread that selects keys, and alone may use what is seen at them. */
  public TaskThread task() {
    return task;
  }

  public void setCurrentKey(K key) {
    // The old one goes first: a key that fails half-way must not leave its bytes under the name of
    // the old one.
    current = null;
    bytes.clear();
    codec.write(key, bytes);
    int group = KeyGroups.ofBytes(bytes.array(), bytes.length(), maxParallelism);
    if (!keyGroups.contains(group)) {
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
    codec.write(key, scratch);
    return KeyGroups.ofBytes(scratch.array(), scratch.length(), maxParallelism);
  }

  /** Reads the key that takes all of {@code in}. */
  public K readKey(ByteReader in) {
    return codec.readAll(in);
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
}
