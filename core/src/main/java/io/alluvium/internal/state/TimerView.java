package io.alluvium.internal.state;

import io.alluvium.bytes.ByteQueue;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.spi.KeyLayout;
import io.alluvium.state.Timer;
import io.alluvium.state.TimerQueue;
import org.jspecify.annotations.Nullable;

/**
 * Timers as keys of the table, without values. Confined to the task thread.
 *
 * <pre>
 *   | key group | state id | 0 | 0 | time, sign flipped, 8 bytes BE | key length | key | namespace |
 *   |&lt;----- row of the empty key and namespace -----&gt;|            |   varint   |     |           |
 * </pre>
 */
final class TimerView<K, N> implements TimerQueue<K, N> {

  private final StateAccess<K> access;
  private final int id;
  private final String of;
  private final Codec<N> namespaces;
  private final int timerOffset;
  private final ByteQueue queue;
  private final ByteReader reader = new ByteReader();
  private byte @Nullable [] peekedKey;
  private @Nullable Timer<K, N> peeked;

  TimerView(StateAccess<K> access, String name, Serializer<N> namespaces, ByteQueue.Start start) {
    this.access = access;
    this.id = KeyLayout.stateId(name);
    this.of = " of timers '" + name + "'";
    this.namespaces = Codec.ofAddresses(namespaces, "a namespace of timers '" + name + "'");
    this.timerOffset = StoredQueue.rankOffset(id);
    this.queue = new StoredQueue(access.writePath, access.keyContext.keyGroups(), id, start);
  }

  @Override
  public void register(N namespace, long timestampMillis) {
    access.enter("register", of);
    ByteWriter key = encode(namespace, timestampMillis);
    boolean unused = queue().add(key.array(), key.length());
  }

  @Override
  public void delete(N namespace, long timestampMillis) {
    access.enter("delete", of);
    ByteWriter key = encode(namespace, timestampMillis);
    boolean unused = queue().remove(key.array(), key.length());
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

  @Override
  public @Nullable Timer<K, N> peek() {
    access.enter("peek", of);
    byte[] key = queue().first();
    if (key == null) {
      peeked = null;
      peekedKey = null;
      return null;
    }
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
    access.enter("poll", of);
    Timer<K, N> timer = peek();
    if (timer != null) {
      queue().removeFirst();
    }
    return timer;
  }

  @Override
  public boolean isEmpty() {
    access.enter("isEmpty", of);
    return queue().first() == null;
  }

  private ByteQueue queue() {
    access.checkOpen();
    return queue;
  }

  private Timer<K, N> decode(byte[] key) {
    reader.reset(key, timerOffset, key.length - timerOffset);
    long timestampMillis = reader.readLong() ^ Long.MIN_VALUE;
    int keyLength = reader.readVarInt();
    int keyAt = reader.position();
    reader.skip(keyLength);
    int namespaceAt = reader.position();
    reader.reset(key, keyAt, keyLength);
    K user = access.keyContext.readKey(reader);
    reader.reset(key, namespaceAt, key.length - namespaceAt);
    return new Timer<>(timestampMillis, user, namespaces.readAll(reader));
  }
}
