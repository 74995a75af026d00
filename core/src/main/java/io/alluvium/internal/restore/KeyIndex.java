package io.alluvium.internal.restore;

import io.alluvium.StateBackendException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Finds the node of a key: an open-addressing table with linear probing, one long a slot, {@code
 * [hash : 32 | node + 1 : 32]}. Confined to one thread.
 *
 * <p>Made for one key group after the other: what a group needed is what the next one starts with,
 * so that clearing costs no more than filling, and the table stays in the processor's cache.
 */
final class KeyIndex {

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final int MIN_CAPACITY = 64;
  private static final int MAX_CAPACITY = 1 << 30;
  private static final long LOW = 0xffff_ffffL;
  private static final long MULTIPLIER = 0x9e37_79b9_7f4a_7c15L;

  private long[] slots = new long[MIN_CAPACITY];
  private long[] spare = new long[0];
  private int capacity = MIN_CAPACITY;
  private int size;

  /** Forgets all keys. */
  void clear() {
    // Twice as many slots as keys, for the next group, which is likely to be as large as the last.
    capacity = Math.max(MIN_CAPACITY, Math.min(capacity, Integer.highestOneBit(size | 1) << 2));
    Arrays.fill(slots, 0, capacity, 0);
    size = 0;
  }

  /**
   * The node of the key that {@code node} carries; {@code node} itself when there was none, and
   * then it is that key's node from now on.
   */
  int findOrAdd(ChangeNodes nodes, int node) {
    byte[] array = nodes.array(node);
    int offset = nodes.keyOffset(node);
    int length = nodes.keyLength(node);
    int hash = hash(array, offset, length);
    int mask = capacity - 1;
    for (int at = hash & mask; ; at = (at + 1) & mask) {
      long slot = slots[at];
      if (slot == 0) {
        slots[at] = (long) hash << 32 | (node + 1);
        if (++size > capacity >> 1) {
          grow();
        }
        return node;
      }
      if ((int) (slot >>> 32) == hash) {
        int other = (int) (slot & LOW) - 1;
        int start = nodes.keyOffset(other);
        if (nodes.keyLength(other) == length
            && Arrays.equals(
                array, offset, offset + length, nodes.array(other), start, start + length)) {
          return other;
        }
      }
    }
  }

  private void grow() {
    if (capacity == MAX_CAPACITY) {
      throw StateBackendException.internal(
          "a batch of changes to replay must hold fewer than "
              + MAX_CAPACITY / 2
              + " keys of one key group");
    }
    int doubled = capacity << 1;
    long[] target = spare.length >= doubled ? spare : new long[doubled];
    Arrays.fill(target, 0, doubled, 0);
    int mask = doubled - 1;
    for (int i = 0; i < capacity; i++) {
      long slot = slots[i];
      if (slot != 0) {
        int at = (int) (slot >>> 32) & mask;
        while (target[at] != 0) {
          at = (at + 1) & mask;
        }
        target[at] = slot;
      }
    }
    spare = slots;
    slots = target;
    capacity = doubled;
  }

  /** Eight bytes at a time; the last eight may overlap those before. */
  static int hash(byte[] array, int offset, int length) {
    long hash = length * MULTIPLIER;
    int end = offset + length;
    if (length >= Long.BYTES) {
      int at = offset;
      for (; at < end - Long.BYTES; at += Long.BYTES) {
        hash = mix(hash ^ (long) LONG.get(array, at));
      }
      hash = mix(hash ^ (long) LONG.get(array, end - Long.BYTES));
    } else {
      long rest = 0;
      for (int at = offset; at < end; at++) {
        rest = rest << 8 | (array[at] & 0xff);
      }
      hash = mix(hash ^ rest);
    }
    return (int) (hash >>> 32);
  }

  private static long mix(long value) {
    long product = value * MULTIPLIER;
    return (product ^ product >>> 32) * MULTIPLIER;
  }
}
