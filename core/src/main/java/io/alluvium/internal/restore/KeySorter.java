package io.alluvium.internal.restore;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Sorts nodes by key, unsigned lexicographic, stable. Confined to one thread; allocates only to
 * grow.
 */
final class KeySorter {

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final int WINDOW = Long.BYTES;
  private static final int BY_KEYS = 16;
  private static final int BY_WINDOWS = 96;
  private static final int DIGIT_BITS = 8;
  private static final int DIGITS = 1 << DIGIT_BITS;

  /*
   * Most significant part first, eight bytes at a time. A run is a set of nodes whose keys agree before `depth`:
   *   1. skip whatever else all keys of the run have in common (the state id and lengths, mostly);
   *   2. load the next eight bytes of each key as a long, padded with zeros;
   *   3. sort by these, with a least-significant-digit radix sort where the run is long;
   *   4. what is still equal is a new run, eight bytes deeper, after the keys that ended within the eight bytes.
   * Step 1 makes every pass tell at least two keys apart, so that random keys are done after one. Runs wait on a stack
   * of ours: keys that are prefixes of each other in long chains would overflow the thread's.
   */
  private long[] windows = new long[256];
  private long[] windowsTarget = new long[256];
  private int[] nodesSource = new int[256];
  private int[] nodesTarget = new int[256];
  private final int[] counts = new int[WINDOW * DIGITS];
  private final int[] lengths = new int[WINDOW + 2];
  private int[] runs = new int[96];
  private int runsEnd;

  /**
   * Sorts {@code order[from, to)}; all keys are at least {@code depth} long and agree before it.
   */
  void sort(ChangeNodes nodes, int[] order, int from, int to, int depth) {
    runsEnd = 0;
    push(from, to, depth);
    while (runsEnd > 0) {
      runsEnd -= 3;
      sortRun(nodes, order, runs[runsEnd], runs[runsEnd + 1], runs[runsEnd + 2]);
    }
  }

  private void push(int from, int to, int depth) {
    if (to - from < 2) {
      return;
    }
    if (runsEnd == runs.length) {
      runs = Arrays.copyOf(runs, 2 * runsEnd);
    }
    runs[runsEnd] = from;
    runs[runsEnd + 1] = to;
    runs[runsEnd + 2] = depth;
    runsEnd += 3;
  }

  private void sortRun(ChangeNodes nodes, int[] order, int from, int to, int start) {
    if (to - from <= BY_KEYS) {
      sortByKeys(nodes, order, from, to, start);
      return;
    }
    int depth = start + commonLength(nodes, order, from, to, start);
    int count = to - from;
    ensureCapacity(count);
    for (int i = 0; i < count; i++) {
      int node = order[from + i];
      int offset = nodes.keyOffset(node);
      windows[i] = window(nodes.array(node), offset + depth, offset + nodes.keyLength(node));
    }
    if (count <= BY_WINDOWS) {
      sortByWindows(order, from, count);
    } else {
      System.arraycopy(order, from, nodesSource, 0, count);
      radixSort(count);
      System.arraycopy(nodesSource, 0, order, from, count);
    }
    for (int i = 0; i < count; ) {
      int end = i + 1;
      while (end < count && windows[end] == windows[i]) {
        end++;
      }
      if (end - i > 1) {
        splitEnded(nodes, order, from + i, from + end, depth + WINDOW);
      }
      i = end;
    }
  }

  private static int commonLength(ChangeNodes nodes, int[] order, int from, int to, int depth) {
    int first = order[from];
    byte[] array = nodes.array(first);
    int start = nodes.keyOffset(first) + depth;
    int common = nodes.keyLength(first) - depth;
    for (int i = from + 1; i < to && common > 0; i++) {
      int node = order[i];
      int other = nodes.keyOffset(node) + depth;
      int limit = Math.min(common, nodes.keyLength(node) - depth);
      int mismatch =
          Arrays.mismatch(array, start, start + limit, nodes.array(node), other, other + limit);
      common = mismatch < 0 ? limit : mismatch;
    }
    return common;
  }

  private static long window(byte[] array, int at, int end) {
    if (end - at >= WINDOW) {
      return (long) LONG.get(array, at);
    }
    long value = 0;
    for (int i = 0; i < WINDOW; i++) {
      value = value << 8 | (at + i < end ? array[at + i] & 0xff : 0);
    }
    return value;
  }

  /**
   * The keys of the run agree before {@code depth} as far as they go. Those that are shorter come
   * first, by length; equal lengths are equal keys then. The others are a new run.
   */
  private void splitEnded(ChangeNodes nodes, int[] order, int from, int to, int depth) {
    Arrays.fill(lengths, 0);
    for (int i = from; i < to; i++) {
      lengths[lengthClass(nodes, order[i], depth) + 1]++;
    }
    int longer = lengths[WINDOW + 1];
    if (longer < to - from) {
      for (int i = 1; i <= WINDOW; i++) {
        lengths[i] += lengths[i - 1];
      }
      System.arraycopy(order, from, nodesSource, 0, to - from);
      for (int i = 0; i < to - from; i++) {
        order[from + lengths[lengthClass(nodes, nodesSource[i], depth)]++] = nodesSource[i];
      }
    }
    push(to - longer, to, depth);
  }

  /** Below {@code WINDOW}: the key ends before {@code depth}. */
  private static int lengthClass(ChangeNodes nodes, int node, int depth) {
    return Math.min(WINDOW, nodes.keyLength(node) - (depth - WINDOW));
  }

  private static void sortByKeys(ChangeNodes nodes, int[] order, int from, int to, int depth) {
    for (int i = from + 1; i < to; i++) {
      int node = order[i];
      byte[] array = nodes.array(node);
      int offset = nodes.keyOffset(node);
      int end = offset + nodes.keyLength(node);
      int at = i;
      for (; at > from; at--) {
        int before = order[at - 1];
        int start = nodes.keyOffset(before);
        if (Arrays.compareUnsigned(
                nodes.array(before),
                start + depth,
                start + nodes.keyLength(before),
                array,
                offset + depth,
                end)
            <= 0) {
          break;
        }
        order[at] = before;
      }
      order[at] = node;
    }
  }

  private void sortByWindows(int[] order, int from, int count) {
    for (int i = 1; i < count; i++) {
      long window = windows[i];
      int node = order[from + i];
      int at = i;
      while (at > 0 && Long.compareUnsigned(windows[at - 1], window) > 0) {
        windows[at] = windows[at - 1];
        order[from + at] = order[from + at - 1];
        at--;
      }
      windows[at] = window;
      order[from + at] = node;
    }
  }

  /** Sorts {@code windows} and {@code nodesSource} together. */
  private void radixSort(int count) {
    Arrays.fill(counts, 0);
    for (int i = 0; i < count; i++) {
      long window = windows[i];
      for (int digit = 0; digit < WINDOW; digit++) {
        counts[digit * DIGITS + digit(window, digit * DIGIT_BITS)]++;
      }
    }
    for (int digit = 0; digit < WINDOW; digit++) {
      int shift = digit * DIGIT_BITS;
      int base = digit * DIGITS;
      if (counts[base + digit(windows[0], shift)] == count) {
        continue;
      }
      int sum = 0;
      for (int i = base; i < base + DIGITS; i++) {
        int own = counts[i];
        counts[i] = sum;
        sum += own;
      }
      for (int i = 0; i < count; i++) {
        int target = counts[base + digit(windows[i], shift)]++;
        windowsTarget[target] = windows[i];
        nodesTarget[target] = nodesSource[i];
      }
      swap();
    }
  }

  private static int digit(long window, int shift) {
    return (int) (window >>> shift) & (DIGITS - 1);
  }

  private void swap() {
    long[] sortedWindows = windowsTarget;
    windowsTarget = windows;
    windows = sortedWindows;
    int[] sortedNodes = nodesTarget;
    nodesTarget = nodesSource;
    nodesSource = sortedNodes;
  }

  private void ensureCapacity(int count) {
    if (windows.length < count) {
      int capacity = (int) Math.min(Integer.MAX_VALUE - 16, Math.max(count, 2L * windows.length));
      windows = new long[capacity];
      windowsTarget = new long[capacity];
      nodesSource = new int[capacity];
      nodesTarget = new int[capacity];
    }
  }
}
