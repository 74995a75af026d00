package io.alluvium.internal.state;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A binary heap over the key groups that have timers in memory, by their first timer. Confined to
 * the task thread.
 */
final class TimerHeap {

  private @Nullable TimerHead[] heap = new TimerHead[16];
  private int size;

  @Nullable TimerHead first() {
    return size == 0 ? null : heap[0];
  }

  /** Restores the order after the first timer of a key group changed, appeared or went away. */
  void update(TimerHead head) {
    if (head.size() == 0) {
      remove(head);
      return;
    }
    if (head.heapIndex < 0) {
      if (size == heap.length) {
        heap = Arrays.copyOf(heap, 2 * size);
      }
      place(head, size++);
    }
    up(head);
    down(head);
  }

  private void remove(TimerHead head) {
    int at = head.heapIndex;
    if (at < 0) {
      return;
    }
    head.heapIndex = -1;
    TimerHead last = get(--size);
    heap[size] = null;
    if (last != head) {
      place(last, at);
      up(last);
      down(last);
    }
  }

  private void up(TimerHead head) {
    int at = head.heapIndex;
    while (at > 0) {
      TimerHead parent = get((at - 1) / 2);
      if (!head.isBefore(parent)) {
        break;
      }
      int parentAt = parent.heapIndex;
      place(parent, at);
      at = parentAt;
    }
    place(head, at);
  }

  private void down(TimerHead head) {
    int at = head.heapIndex;
    for (int child = 2 * at + 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && get(child + 1).isBefore(get(child))) {
        child++;
      }
      TimerHead smaller = get(child);
      if (!smaller.isBefore(head)) {
        break;
      }
      place(smaller, at);
      at = child;
    }
    place(head, at);
  }

  private void place(TimerHead head, int at) {
    heap[at] = head;
    head.heapIndex = at;
  }

  private TimerHead get(int at) {
    TimerHead head = heap[at];
    if (head == null) {
      throw new IllegalStateException("no key group at " + at + " of " + size);
    }
    return head;
  }
}
