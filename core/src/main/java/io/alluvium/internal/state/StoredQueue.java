package io.alluvium.internal.state;

import io.alluvium.KeyGroupRange;
import io.alluvium.bytes.ByteQueue;
import io.alluvium.internal.arguments.Arguments;
import io.alluvium.internal.backend.WritePath;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.TableScan;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/** A queue over keys of the table. Confined to the task thread. */
public final class StoredQueue implements ByteQueue {

  /*
   * The table orders the timers of a key group. The queue keeps the first few of each in memory (TimerHead) and a heap
   * over the key groups. Invariant: what a TimerHead holds is a prefix of what the table holds. Hence a timer that
   * belongs before the last one held can be decided in memory; one behind it is only written to the table. A head that
   * ran empty while the table may hold more is `stale` and read again when the earliest timer is next asked for. So is
   * one whose change or reading failed: it forgets everything, because the change may be in the table or not.
   */
  private static final byte[] NOTHING = new byte[0];

  private final WritePath writes;
  private final int id;
  private final int firstKeyGroup;
  private final TimerHead[] heads;
  private final TimerHeap heap = new TimerHeap();
  private final ArrayDeque<TimerHead> stale = new ArrayDeque<>();
  private final ByteWriter prefix = new ByteWriter();
  private final ByteWriter value = new ByteWriter(0);

  public StoredQueue(WritePath writes, KeyGroupRange keyGroups, int id, Start start) {
    this.writes = writes;
    this.id = id;
    this.firstKeyGroup = keyGroups.from();
    this.heads = new TimerHead[keyGroups.size()];
    int rankOffset = rankOffset(id);
    for (int i = 0; i < heads.length; i++) {
      RecentTimers recent = new RecentTimers(rankOffset, heads.length);
      heads[i] = new TimerHead(firstKeyGroup + i, rankOffset, start == Start.EMPTY, recent);
      changed(heads[i]);
    }
  }

  /** Where in a key the rank starts: behind key group, state id, empty key and empty namespace. */
  static int rankOffset(int id) {
    ByteWriter state = new ByteWriter();
    KeyLayout.writeState(state, 0, id);
    return state.length() + 2;
  }

  @Override
  public boolean add(byte[] key, int keyLength) {
    Arguments.check(key, "key");
    TimerHead head = headOf(key);
    // Looking first costs less than logging again what windows register with each record.
    if (isStored(head, key, keyLength)) {
      return false;
    }
    try {
      writes.put(key, keyLength, NOTHING, 0);
      head.added(key, keyLength);
    } catch (RuntimeException | Error e) {
      forget(head);
      throw e;
    }
    changed(head);
    return true;
  }

  @Override
  public boolean remove(byte[] key, int keyLength) {
    Arguments.check(key, "key");
    TimerHead head = headOf(key);
    if (!isStored(head, key, keyLength)) {
      return false;
    }
    try {
      writes.delete(key, keyLength);
      head.removed(key, keyLength);
    } catch (RuntimeException | Error e) {
      forget(head);
      throw e;
    }
    changed(head);
    return true;
  }

  private TimerHead headOf(byte[] key) {
    return heads[KeyLayout.keyGroup(key, 0) - firstKeyGroup];
  }

  private boolean isStored(TimerHead head, byte[] key, int keyLength) {
    writes.checkOpen();
    return switch (head.contains(key, keyLength)) {
      case YES -> true;
      case NO -> false;
      case UNKNOWN -> {
        boolean stored = writes.get(key, keyLength, value);
        if (stored) {
          head.isStored(key, keyLength);
        }
        yield stored;
      }
    };
  }

  private void changed(TimerHead head) {
    heap.update(head);
    if (head.mustFill() && !head.stale) {
      head.stale = true;
      stale.add(head);
    }
  }

  private void forget(TimerHead head) {
    head.forget();
    changed(head);
  }

  @Override
  public byte @Nullable [] first() {
    TimerHead head = earliest();
    return head == null ? null : head.first();
  }

  @Override
  public void removeFirst() {
    TimerHead head = earliest();
    if (head == null) {
      throw new IllegalStateException("removeFirst() must follow a first() that gave a key");
    }
    byte[] key = head.first();
    try {
      writes.delete(key, key.length);
      head.removeFirst();
    } catch (RuntimeException | Error e) {
      forget(head);
      throw e;
    }
    changed(head);
  }

  private @Nullable TimerHead earliest() {
    writes.checkOpen();
    for (TimerHead head = stale.poll(); head != null; head = stale.poll()) {
      head.stale = false;
      try {
        fill(head);
      } catch (RuntimeException | Error e) {
        forget(head);
        throw e;
      }
      heap.update(head);
    }
    return heap.first();
  }

  private void fill(TimerHead head) {
    prefix.clear();
    KeyLayout.writeState(prefix, head.keyGroup, id);
    prefix.writeShort(0);
    byte[] from = head.noneBefore();
    try (TableScan scan = from == null ? writes.scan(prefix) : writes.scanFrom(prefix, from)) {
      while (scan.next()) {
        if (head.size() == TimerHead.CAPACITY) {
          return;
        }
        head.fill(scan.key(), scan.keyLength());
      }
      head.filledWhole();
    }
  }
}
