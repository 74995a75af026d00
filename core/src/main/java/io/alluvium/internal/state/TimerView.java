package io.alluvium.internal.state;

import io.alluvium.KeyGroupRange;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.TableScan;
import io.alluvium.state.Timer;
import io.alluvium.state.TimerQueue;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Timers as keys of the table, without values. Confined to the task thread.
 *
 * <pre>
 *   | key group | state id | 0 | 0 | time, sign flipped, 8 bytes BE | key length | key | namespace |
 *   |<------ row of the empty key and namespace ------>|            |   varint   |     |           |
 * </pre>
 */
final class TimerView<K, N> implements TimerQueue<K, N> {

  /*
   * The table orders the timers of a key group. The queue keeps the first few of each in memory (TimerHead) and a heap
   * over the key groups. Invariant: what a TimerHead holds is a prefix of what the table holds. Hence a timer that
   * belongs before the last one held can be decided in memory; one behind it is only written to the table. A head that
   * ran empty while the table may hold more is `stale` and read again when the earliest timer is next asked for.
   */
  private final StateAccess<K> access;
  private final int id;
  private final Serializer<N> namespaces;
  private final int timerOffset;
  private final int firstKeyGroup;
  private final TimerHead[] heads;
  private final TimerHeap heap = new TimerHeap();
  private final ArrayDeque<TimerHead> stale = new ArrayDeque<>();
  private final ByteReader reader = new ByteReader();
  private byte @Nullable [] peekedKey;
  private @Nullable Timer<K, N> peeked;

  /** What the table is known to hold when a queue is made. */
  enum Start {
    /** No timer: the queue was never registered before. */
    EMPTY,
    RESTORED
  }

  TimerView(StateAccess<K> access, int id, Serializer<N> namespaces, Start start) {
    this.access = access;
    this.id = id;
    this.namespaces = namespaces;
    ByteWriter prefix = new ByteWriter();
    KeyLayout.writeState(prefix, 0, id);
    this.timerOffset = prefix.length() + 2;
    KeyGroupRange keyGroups = access.keyContext.keyGroups();
    this.firstKeyGroup = keyGroups.from();
    this.heads = new TimerHead[keyGroups.size()];
    for (int i = 0; i < heads.length; i++) {
      heads[i] = new TimerHead(firstKeyGroup + i, timerOffset, start == Start.EMPTY);
      changed(heads[i]);
    }
  }

  @Override
  public void register(N namespace, long timestampMillis) {
    ByteWriter key = encode(namespace, timestampMillis);
    TimerHead head = heads[access.keyContext.currentKeyGroup() - firstKeyGroup];
    // Looking first costs less than logging again what windows register with each record.
    if (!isStored(head, key)) {
      access.writePath.put(key, access.clearValue());
      head.added(key.array(), key.length());
      changed(head);
    }
  }

  @Override
  public void delete(N namespace, long timestampMillis) {
    ByteWriter key = encode(namespace, timestampMillis);
    TimerHead head = heads[access.keyContext.currentKeyGroup() - firstKeyGroup];
    if (isStored(head, key)) {
      access.writePath.delete(key);
      head.removed(key.array(), key.length());
      changed(head);
    }
  }

  private boolean isStored(TimerHead head, ByteWriter key) {
    access.checkOpen();
    return switch (head.contains(key.array(), key.length())) {
      case YES -> true;
      case NO -> false;
      case UNKNOWN -> access.writePath.get(key, access.clearValue());
    };
  }

  private ByteWriter encode(N namespace, long timestampMillis) {
    ByteWriter current = access.clearScratch();
    access.keyContext.startKey(current, id);
    ByteWriter key = access.key;
    key.clear();
    int stateEnd = timerOffset - 2;
    key.writeBytes(current.array(), 0, stateEnd);
    key.writeShort(0);
    key.writeLong(timestampMillis ^ Long.MIN_VALUE);
    key.writeBytes(current.array(), stateEnd, current.length() - stateEnd);
    namespaces.write(namespace, key);
    return key;
  }

  private void changed(TimerHead head) {
    heap.update(head);
    if (head.mustFill() && !head.stale) {
      head.stale = true;
      stale.add(head);
    }
  }

  @Override
  public @Nullable Timer<K, N> peek() {
    TimerHead head = earliest();
    if (head == null) {
      peeked = null;
      peekedKey = null;
      return null;
    }
    byte[] key = head.first();
    Timer<K, N> timer = peeked;
    if (timer == null || peekedKey != key) {
      timer = decode(key);
      peeked = timer;
      peekedKey = key;
    }
    return timer;
  }

  @Override
  public @Nullable Timer<K, N> poll() {
    Timer<K, N> timer = peek();
    TimerHead head = heap.first();
    if (timer != null && head != null) {
      ByteWriter key = access.key;
      key.clear();
      key.writeBytes(head.first());
      access.writePath.delete(key);
      head.removeFirst();
      changed(head);
    }
    return timer;
  }

  @Override
  public boolean isEmpty() {
    return earliest() == null;
  }

  private @Nullable TimerHead earliest() {
    access.checkOpen();
    for (TimerHead head = stale.poll(); head != null; head = stale.poll()) {
      head.stale = false;
      fill(head);
      heap.update(head);
    }
    return heap.first();
  }

  private void fill(TimerHead head) {
    ByteWriter prefix = access.key;
    prefix.clear();
    KeyLayout.writeState(prefix, head.keyGroup, id);
    prefix.writeShort(0);
    byte[] from = head.noneBefore();
    try (TableScan scan =
        from == null ? access.writePath.scan(prefix) : access.writePath.scanFrom(prefix, from)) {
      while (scan.next()) {
        if (head.size() == TimerHead.CAPACITY) {
          return;
        }
        head.fill(scan.key(), scan.keyLength());
      }
      head.filledWhole();
    }
  }

  private Timer<K, N> decode(byte[] key) {
    reader.reset(key, timerOffset, key.length - timerOffset);
    long timestampMillis = reader.readLong() ^ Long.MIN_VALUE;
    int keyLength = reader.readVarInt();
    int keyAt = reader.position();
    reader.skip(keyLength);
    int namespaceAt = reader.position();
    reader.reset(key, keyAt, keyLength);
    K user = access.keyContext.serializer().read(reader);
    reader.reset(key, namespaceAt, key.length - namespaceAt);
    return new Timer<>(timestampMillis, user, namespaces.read(reader));
  }
}
