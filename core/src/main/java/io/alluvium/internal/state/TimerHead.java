package io.alluvium.internal.state;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The earliest timers of one key group, in order: always exactly the first {@link #size()} of those
 * that the table holds. Beside them some later ones, without order ({@link RecentTimers}). Confined
 * to the task thread.
 */
final class TimerHead {

  /** How many timers of a key group are kept in memory. */
  static final int CAPACITY = 128;

  private static final int FIRST_CAPACITY = 8;
  private static final byte[] NONE = new byte[0];

  final int keyGroup;

  /** Where in a key the timer starts: behind key group, state id, empty key and empty namespace. */
  private final int timerOffset;

  private final RecentTimers recent;

  /** Whole keys of the table, ascending, from {@code start} on. */
  private byte[][] keys = new byte[0][];

  private int start;
  private int size;
  private boolean complete;

  /**
   * While empty: the table holds no timer before this key. Reading on from here passes none of the
   * many that were deleted before it.
   */
  private byte @Nullable [] noneBefore;

  /** Place in the heap over key groups; -1 when not in it. */
  int heapIndex = -1;

  /** Whether it waits to be read from the table. */
  boolean stale;

  /**
   * @param complete whether the table is known to hold no timer of this key group
   * @param recent empty, of this key group
   */
  TimerHead(int keyGroup, int timerOffset, boolean complete, RecentTimers recent) {
    this.keyGroup = keyGroup;
    this.timerOffset = timerOffset;
    this.complete = complete;
    this.recent = recent;
  }

  int size() {
    return size;
  }

  /** Empty, but the table may hold timers. */
  boolean mustFill() {
    return size == 0 && !complete;
  }

  byte[] first() {
    return at(0);
  }

  private byte[] at(int index) {
    return keys[start + index];
  }

  /** Whether the table holds this timer, if that is known from memory. */
  Known contains(byte[] key, int keyLength) {
    if (recent.contains(key, keyLength)) {
      return Known.YES;
    }
    int index = find(key, keyLength);
    if (index >= 0) {
      return Known.YES;
    }
    return complete || -index - 1 < size ? Known.NO : Known.UNKNOWN;
  }

  /** An answer from memory. */
  enum Known {
    YES,
    NO,
    UNKNOWN
  }

  /** Takes note that the table holds a timer that was {@code UNKNOWN}. */
  void isStored(byte[] key, int keyLength) {
    recent.add(key, keyLength);
  }

  /** The index of a timer, or {@code -(where it belongs) - 1}. */
  private int find(byte[] key, int keyLength) {
    int low = 0;
    int high = size - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      byte[] other = at(middle);
      int order =
          Arrays.compareUnsigned(other, timerOffset, other.length, key, timerOffset, keyLength);
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

  /** Takes note of a timer that was written to the table and was not there before. */
  void added(byte[] key, int keyLength) {
    recent.add(key, keyLength);
    int index = -find(key, keyLength) - 1;
    if (index == size && !complete) {
      byte[] bound = noneBefore;
      if (size == 0 && bound != null && isBefore(key, keyLength, bound)) {
        noneBefore = Arrays.copyOf(key, keyLength);
      }
      return;
    }
    if (size == CAPACITY) {
      complete = false;
      if (index == size) {
        return;
      }
      keys[start + --size] = NONE;
    }
    insert(index, Arrays.copyOf(key, keyLength));
  }

  private void insert(int index, byte[] key) {
    if (start + size == keys.length) {
      byte[][] target = start > 0 ? keys : new byte[Math.max(FIRST_CAPACITY, 2 * size)][];
      System.arraycopy(keys, start, target, 0, size);
      Arrays.fill(target, size, target.length, NONE);
      keys = target;
      start = 0;
    }
    int at = start + index;
    System.arraycopy(keys, at, keys, at + 1, size - index);
    keys[at] = key;
    size++;
  }

  private boolean isBefore(byte[] key, int keyLength, byte[] other) {
    return Arrays.compareUnsigned(key, timerOffset, keyLength, other, timerOffset, other.length)
        < 0;
  }

  /** Takes note of a timer that was deleted from the table. */
  void removed(byte[] key, int keyLength) {
    int index = find(key, keyLength);
    if (index == 0) {
      removeFirst();
      return;
    }
    recent.remove(key, keyLength);
    if (index > 0) {
      int at = start + index;
      size--;
      System.arraycopy(keys, at + 1, keys, at, size - index);
      keys[start + size] = NONE;
    }
  }

  void removeFirst() {
    byte[] removed = keys[start];
    recent.remove(removed, removed.length);
    keys[start++] = NONE;
    size--;
    if (size == 0) {
      start = 0;
      noneBefore = removed;
    }
  }

  /** From now on nothing is known of the table. */
  void forget() {
    recent.clear();
    keys = new byte[0][];
    start = 0;
    size = 0;
    complete = false;
    noneBefore = null;
  }

  /** Where filling starts; {@code null} for the first timer of the key group. */
  byte @Nullable [] noneBefore() {
    return noneBefore;
  }

  /** Appends while filling from the table, in order. */
  void fill(byte[] key, int keyLength) {
    insert(size, Arrays.copyOf(key, keyLength));
  }

  /** Ends a filling that met the end of the key group. */
  void filledWhole() {
    complete = true;
  }

  /** Order by time, then by key group, so that it does not depend on what happened before. */
  boolean isBefore(TimerHead other) {
    byte[] mine = first();
    byte[] theirs = other.first();
    int order =
        Arrays.compareUnsigned(
            mine, timerOffset, rankEnd(mine), theirs, timerOffset, rankEnd(theirs));
    return order < 0 || (order == 0 && keyGroup < other.keyGroup);
  }

  private int rankEnd(byte[] key) {
    return Math.min(timerOffset + Long.BYTES, key.length);
  }
}
