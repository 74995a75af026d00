package io.alluvium.internal.heap;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Up to {@value #MAX} entries in ascending order of their keys. Confined to the task thread. */
final class Block {

  static final int MAX = 64;
  private static final int FIRST_CAPACITY = 2;

  final int epoch;
  private @Nullable Object[] entries;
  private int count;

  private Block(int epoch, @Nullable Object[] entries, int count) {
    this.epoch = epoch;
    this.entries = entries;
    this.count = count;
  }

  static Block of(int epoch, Object entry) {
    @Nullable Object[] entries = new @Nullable Object[FIRST_CAPACITY];
    entries[0] = entry;
    return new Block(epoch, entries, 1);
  }

  Block copy(int newEpoch) {
    return new Block(newEpoch, entries.clone(), count);
  }

  int count() {
    return count;
  }

  Object get(int index) {
    Object entry = entries[index];
    if (entry == null) {
      throw new IllegalStateException("no entry at " + index + " of " + count);
    }
    return entry;
  }

  void set(int index, Object entry) {
    entries[index] = entry;
  }

  /** The index of a key, or {@code -(insertion point) - 1}. */
  int find(byte[] key, int from, int to) {
    int low = 0;
    int high = count - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int order = Entries.compareKey(get(middle), key, from, to);
      if (order == 0) {
        return middle;
      }
      if (order < 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -low - 1;
  }

  boolean isFull() {
    return count == MAX;
  }

  void insert(int index, Object entry) {
    if (count == entries.length) {
      entries = Arrays.copyOf(entries, Math.min(MAX, count + (count >> 1) + 1));
    }
    System.arraycopy(entries, index, entries, index + 1, count - index);
    entries[index] = entry;
    count++;
  }

  void remove(int index) {
    count--;
    System.arraycopy(entries, index + 1, entries, index, count - index);
    entries[count] = null;
  }

  /** Moves the upper half into a new block. */
  Block split() {
    int kept = count / 2;
    Block upper = new Block(epoch, Arrays.copyOfRange(entries, kept, kept + MAX), count - kept);
    Arrays.fill(entries, kept, count, null);
    count = kept;
    return upper;
  }

  /**
   * Appends the entries of the next block; both blocks have at most {@link #MAX} entries together.
   */
  void append(Block next) {
    entries = Arrays.copyOf(entries, MAX);
    System.arraycopy(next.entries, 0, entries, count, next.count);
    count += next.count;
  }
}
