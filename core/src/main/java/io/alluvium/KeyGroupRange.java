package io.alluvium;

import io.alluvium.internal.arguments.Arguments;

/**
 * A half-open range {@code [from, to)} of key groups, the part of the key space that one subtask
 * owns. Immutable.
 *
 * @param from first key group, at least 0
 * @param to one past the last key group, at most {@value #MAX_KEY_GROUPS}
 */
public record KeyGroupRange(int from, int to) {

  /** A key group is stored as two bytes, big endian, at the start of every key. */
  public static final int MAX_KEY_GROUPS = 1 << 15;

  public KeyGroupRange {
    if (from < 0 || to < from || to > MAX_KEY_GROUPS) {
      throw StateBackendException.invalid(
          "key-group range ["
              + from
              + ", "
              + to
              + ") must lie within [0, "
              + MAX_KEY_GROUPS
              + ") and not end before it starts");
    }
  }

  /**
   * The range of one subtask when {@code maxParallelism} key groups are spread over {@code
   * parallelism} subtasks.
   */
  public static KeyGroupRange ofSubtask(int maxParallelism, int parallelism, int subtask) {
    if (maxParallelism < 1 || maxParallelism > MAX_KEY_GROUPS) {
      throw StateBackendException.invalid(
          "maximum parallelism " + maxParallelism + " must lie within [1, " + MAX_KEY_GROUPS + "]");
    }
    if (parallelism < 1 || parallelism > maxParallelism) {
      throw StateBackendException.invalid(
          "parallelism "
              + parallelism
              + " must lie within [1, "
              + maxParallelism
              + "], the maximum parallelism");
    }
    if (subtask < 0 || subtask >= parallelism) {
      throw StateBackendException.invalid(
          "subtask " + subtask + " must lie within [0, " + parallelism + ")");
    }
    return new KeyGroupRange(
        bound(maxParallelism, parallelism, subtask),
        bound(maxParallelism, parallelism, subtask + 1));
  }

  /** The subtask that owns {@code keyGroup}; the inverse of {@link #ofSubtask}. */
  public static int subtaskOf(int keyGroup, int maxParallelism, int parallelism) {
    return keyGroup * parallelism / maxParallelism;
  }

  private static int bound(int maxParallelism, int parallelism, int subtask) {
    return (subtask * maxParallelism + parallelism - 1) / parallelism;
  }

  public boolean contains(int keyGroup) {
    return keyGroup >= from && keyGroup < to;
  }

  public boolean isEmpty() {
    return from == to;
  }

  public int size() {
    return to - from;
  }

  /** The common part of both ranges; an empty range when there is none. */
  public KeyGroupRange intersect(KeyGroupRange other) {
    Arguments.check(other, "other");
    int start = Math.max(from, other.from);
    int end = Math.min(to, other.to);
    return start < end ? new KeyGroupRange(start, end) : new KeyGroupRange(start, start);
  }

  @Override
  public String toString() {
    return "[" + from + ", " + to + ")";
  }
}
