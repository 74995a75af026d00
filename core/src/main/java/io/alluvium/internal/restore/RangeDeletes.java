package io.alluvium.internal.restore;

import java.util.Arrays;
import java.util.List;

/**
 * The range deletions of one key group, and which keys they cover. Confined to one thread.
 *
 * <p>Both sides are sorted, so that one sweep over the keys finds what covers each: the prefixes of
 * the current key wait on a stack, each a prefix of the one above it.
 */
final class RangeDeletes {

  /** No range deletion covers the key. */
  static final long NONE = -1;

  private int[] prefixes = new int[16];
  private int count;
  private int next;
  private int[] stack = new int[16];
  private long[] newest = new long[16];
  private int depth;

  void clear() {
    count = 0;
  }

  boolean isEmpty() {
    return count == 0;
  }

  void add(int node) {
    if (count == prefixes.length) {
      prefixes = Arrays.copyOf(prefixes, 2 * count);
    }
    prefixes[count++] = node;
  }

  /** Gets ready for a sweep. */
  void sort(ChangeNodes nodes, KeySorter sorter) {
    sorter.sort(nodes, prefixes, 0, count, 0);
    next = 0;
    depth = 0;
  }

  /**
   * The sequence number of the newest range deletion that covers a key, or {@link #NONE}. Keys come
   * in ascending order.
   */
  long newestOver(ChangeNodes nodes, int key) {
    while (next < count && compare(nodes, prefixes[next], key) <= 0) {
      int prefix = prefixes[next++];
      pop(nodes, prefix);
      push(nodes, prefix);
    }
    pop(nodes, key);
    return depth == 0 ? NONE : newest[depth - 1];
  }

  private void push(ChangeNodes nodes, int prefix) {
    if (depth == stack.length) {
      stack = Arrays.copyOf(stack, 2 * depth);
      newest = Arrays.copyOf(newest, 2 * depth);
    }
    long sqn = nodes.sqn(prefix);
    stack[depth] = prefix;
    newest[depth] = depth == 0 ? sqn : Math.max(sqn, newest[depth - 1]);
    depth++;
  }

  private void pop(ChangeNodes nodes, int key) {
    while (depth > 0 && !isPrefix(nodes, stack[depth - 1], key)) {
      depth--;
    }
  }

  /** Adds the prefixes, ascending, without those that another one covers. */
  void addOutermost(ChangeNodes nodes, List<byte[]> target) {
    int last = -1;
    for (int i = 0; i < count; i++) {
      int prefix = prefixes[i];
      if (last < 0 || !isPrefix(nodes, last, prefix)) {
        int start = nodes.keyOffset(prefix);
        target.add(Arrays.copyOfRange(nodes.array(prefix), start, start + nodes.keyLength(prefix)));
        last = prefix;
      }
    }
  }

  private static boolean isPrefix(ChangeNodes nodes, int prefix, int key) {
    int length = nodes.keyLength(prefix);
    int start = nodes.keyOffset(prefix);
    int other = nodes.keyOffset(key);
    return length <= nodes.keyLength(key)
        && Arrays.equals(
            nodes.array(prefix), start, start + length, nodes.array(key), other, other + length);
  }

  private static int compare(ChangeNodes nodes, int left, int right) {
    int start = nodes.keyOffset(left);
    int other = nodes.keyOffset(right);
    return Arrays.compareUnsigned(
        nodes.array(left),
        start,
        start + nodes.keyLength(left),
        nodes.array(right),
        other,
        other + nodes.keyLength(right));
  }
}
