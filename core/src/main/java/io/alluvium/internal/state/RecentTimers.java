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
 * up to {@value #MAX_SLOTS} timers and copies keys into arrays that it keeps.
 */
final class RecentTimers {

  /** How many timers of a key group are remembered at most. */
  static final int MAX_SLOTS = 1024;

  /** Longer keys are not remembered, so that the memory is bounded. */
  static final int MAX_KEY_BYTES = 256;

  private static final int BUCKET = 8;
  private static final int FIRST_SLOTS = 2 * BUCKET;
  private static final byte[] NOTHING = new byte[0];
  private static final long MULTIPLIER = 0x9E3779B97F4A7C15L;
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private final int timerOffset;

  // By slot. An empty slot has the hash 0, and may keep an array.
  private int[] hashes = new int[0];
  private byte[][] keys = new byte[0][];
  private short[] lengths = new short[0];

  private int size;
  private int nextVictim;

  /**
   * @param timerOffset where keys begin to differ
   */
  RecentTimers(int timerOffset) {
    this.timerOffset = timerOffset;
  }

  boolean contains(byte[] key, int keyLength) {
    return size > 0 && find(hash(key, keyLength), key, keyLength) >= 0;
  }

  private int find(int hash, byte[] key, int keyLength) {
    int bucket = bucket(hash);
    for (int slot = bucket; slot < bucket + BUCKET; slot++) {
      if (hashes[slot] == hash
          && Arrays.equals(keys[slot], timerOffset, lengths[slot], key, timerOffset, keyLength)) {
        return slot;
      }
    }
    return -1;
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
    if (keyLength > MAX_KEY_BYTES) {
      return;
    }
    if (size >= hashes.length / 2 && hashes.length < MAX_SLOTS) {
      grow();
    }
    int hash = hash(key, keyLength);
    int slot = slotFor(hash);
    if (keys[slot].length < keyLength) {
      keys[slot] = new byte[keyLength];
    }
    System.arraycopy(key, 0, keys[slot], 0, keyLength);
    hashes[slot] = hash;
    lengths[slot] = (short) keyLength;
    size++;
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

  private void grow() {
    int[] oldHashes = hashes;
    byte[][] oldKeys = keys;
    short[] oldLengths = lengths;
    int slots = Math.max(FIRST_SLOTS, 2 * oldHashes.length);
    hashes = new int[slots];
    keys = new byte[slots][];
    Arrays.fill(keys, NOTHING);
    lengths = new short[slots];
    for (int from = 0; from < oldHashes.length; from++) {
      if (oldHashes[from] != 0) {
        // No bucket takes from more than one of the old ones, so none is full.
        int to = slotFor(oldHashes[from]);
        hashes[to] = oldHashes[from];
        keys[to] = oldKeys[from];
        lengths[to] = oldLengths[from];
      }
    }
  }

  /** The table does not hold the timer any more. */
  void remove(byte[] key, int keyLength) {
    int slot = size == 0 ? -1 : find(hash(key, keyLength), key, keyLength);
    if (slot >= 0) {
      hashes[slot] = 0;
      size--;
    }
  }
}
