package io.alluvium.internal.state;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Some of the timers that the table holds for one key group. A window registers the same timers
 * with each record; what is found here need not be read. Confined to the task thread.
 *
 * <p>A hash table of buckets of {@value #BUCKET} timers, where a full bucket forgets one. It grows
 * up to {@value #MAX_SLOTS} timers, or fewer where a queue has many key groups. They lie in one
 * array, because a search mostly waits for the memory:
 *
 * <pre>
 *   slot: | length, 2 bytes | key behind its timer offset | unused up to the stride |
 * </pre>
 */
final class RecentTimers {

  /** How many timers of a key group are remembered at most. */
  static final int MAX_SLOTS = 1024;

  /** How many timers of a queue are remembered at most, unless it has very many key groups. */
  static final int MAX_SLOTS_OF_A_QUEUE = 1 << 17;

  /** Longer ones, without the key's common beginning, are not remembered. */
  static final int MAX_TIMER_BYTES = 254;

  private static final int BUCKET = 8;
  private static final int FIRST_SLOTS = 2 * BUCKET;
  private static final int STRIDE_STEP = 8;
  private static final long MULTIPLIER = 0x9E3779B97F4A7C15L;
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
  private static final VarHandle SHORT =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.nativeOrder());

  private final int timerOffset;
  private final int maxSlots;

  /** By slot; 0 for an empty one. */
  private int[] hashes = new int[0];

  private byte[] slots = new byte[0];
  private int stride;
  private int size;
  private int nextVictim;

  /**
   * @param timerOffset where keys begin to differ
   * @param keyGroups of the queue, which share its memory
   */
  RecentTimers(int timerOffset, int keyGroups) {
    this.timerOffset = timerOffset;
    int share = Integer.highestOneBit(MAX_SLOTS_OF_A_QUEUE / keyGroups);
    this.maxSlots = Math.max(FIRST_SLOTS, Math.min(MAX_SLOTS, share));
  }

  boolean contains(byte[] key, int keyLength) {
    return size > 0 && find(hash(key, keyLength), key, keyLength) >= 0;
  }

  private int find(int hash, byte[] key, int keyLength) {
    int bucket = bucket(hash);
    for (int slot = bucket; slot < bucket + BUCKET; slot++) {
      if (hashes[slot] == hash && holds(slot, key, keyLength)) {
        return slot;
      }
    }
    return -1;
  }

  private boolean holds(int slot, byte[] key, int keyLength) {
    int at = slot * stride;
    int from = at + Short.BYTES;
    int length = (short) SHORT.get(slots, at);
    return Arrays.equals(slots, from, from + length, key, timerOffset, keyLength);
  }

  private int bucket(int hash) {
    return hash & (hashes.length - BUCKET);
  }

  private int hash(byte[] key, int keyLength) {
    long hash = keyLength;
    int at = timerOffset;
    for (; at <= keyLength - Long.BYTES; at += Long.BYTES) {
      hash = mixed(hash ^ (long) LONG.get(key, at));
    }
    for (; at < keyLength; at++) {
      hash = mixed(hash ^ key[at]);
    }
    // Never that of an empty slot.
    return (int) hash | Integer.MIN_VALUE;
  }

  private static long mixed(long hash) {
    long product = hash * MULTIPLIER;
    return product ^ (product >>> 32);
  }

  /** Notes a timer that the table holds and that is not here. */
  void add(byte[] key, int keyLength) {
    int length = keyLength - timerOffset;
    if (length > MAX_TIMER_BYTES) {
      return;
    }
    makeRoom(length);
    int hash = hash(key, keyLength);
    int slot = slotFor(hash);
    int at = slot * stride;
    SHORT.set(slots, at, (short) length);
    System.arraycopy(key, timerOffset, slots, at + Short.BYTES, length);
    hashes[slot] = hash;
    size++;
  }

  private void makeRoom(int length) {
    int wantedSlots = hashes.length;
    if (size >= wantedSlots / 2 && wantedSlots < maxSlots) {
      wantedSlots = Math.max(FIRST_SLOTS, 2 * wantedSlots);
    }
    int wantedStride = stride;
    if (Short.BYTES + length > stride) {
      wantedStride = Short.BYTES + length + STRIDE_STEP - 1;
      wantedStride -= wantedStride % STRIDE_STEP;
    }
    if (wantedSlots > hashes.length || wantedStride > stride) {
      resize(wantedSlots, wantedStride);
    }
  }

  private void resize(int newSlots, int newStride) {
    int[] oldHashes = hashes;
    byte[] old = slots;
    int oldStride = stride;
    // Both or none, also when the memory ends.
    int[] newHashes = new int[newSlots];
    slots = new byte[newSlots * newStride];
    hashes = newHashes;
    stride = newStride;
    for (int from = 0; from < oldHashes.length; from++) {
      if (oldHashes[from] != 0) {
        // No bucket takes from more than one of the old ones, so none is full.
        int to = slotFor(oldHashes[from]);
        hashes[to] = oldHashes[from];
        System.arraycopy(old, from * oldStride, slots, to * newStride, oldStride);
      }
    }
  }

  /** An empty slot of the bucket. */
  private int slotFor(int hash) {
    int bucket = bucket(hash);
    for (int slot = bucket; slot < bucket + BUCKET; slot++) {
      if (hashes[slot] == 0) {
        return slot;
      }
    }
    int victim = bucket + (nextVictim++ & (BUCKET - 1));
    hashes[victim] = 0;
    size--;
    return victim;
  }

  /** The table does not hold the timer any more. */
  void remove(byte[] key, int keyLength) {
    int slot = size == 0 ? -1 : find(hash(key, keyLength), key, keyLength);
    if (slot >= 0) {
      hashes[slot] = 0;
      size--;
    }
  }

  /** Forgets all. */
  void clear() {
    Arrays.fill(hashes, 0);
    size = 0;
  }
}
