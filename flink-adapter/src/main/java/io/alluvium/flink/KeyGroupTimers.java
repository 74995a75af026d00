package io.alluvium.flink;

import io.alluvium.bytes.ByteBackend;
import io.alluvium.bytes.ByteQueue;
import io.alluvium.spi.TableScan;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collection;
import java.util.NoSuchElementException;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.InternalPriorityQueue;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueElement;
import org.apache.flink.util.CloseableIterator;
import org.jspecify.annotations.Nullable;

/**
 * The timers of one key group as keys of the table. The serializer writes timers so that their
 * bytes sort like them. Confined to the task thread.
 *
 * <pre>
 *   | key group | state id | 0 | 0 | element |
 * </pre>
 */
final class KeyGroupTimers<T> implements InternalPriorityQueue<T>, HeapPriorityQueueElement {

  private static final int CHUNK = 256;

  private final ByteBackend bytes;

  /** The row of the empty key and the empty namespace. */
  private final byte[] prefix;

  private final ByteQueue queue;
  private final DataOutputSerializer key = new DataOutputSerializer(64);
  private final DataInputDeserializer in = new DataInputDeserializer();
  private TypeSerializer<T> serializer;
  private byte @Nullable [] peekedKey;
  private @Nullable T peeked;
  private int heapIndex = NOT_CONTAINED;

  KeyGroupTimers(
      ByteBackend bytes,
      int stateId,
      int keyGroup,
      ByteQueue.Start start,
      TypeSerializer<T> serializer) {
    this.bytes = bytes;
    byte[] state = RowWalk.prefix(keyGroup, Rows.idBytes(stateId));
    this.prefix = Arrays.copyOf(state, state.length + 2);
    this.queue = bytes.queue(stateId, new io.alluvium.KeyGroupRange(keyGroup, keyGroup + 1), start);
    this.serializer = serializer;
  }

  void setSerializer(TypeSerializer<T> newSerializer) {
    serializer = newSerializer;
    peekedKey = null;
    peeked = null;
  }

  @Override
  public int getInternalIndex() {
    return heapIndex;
  }

  @Override
  public void setInternalIndex(int newIndex) {
    heapIndex = newIndex;
  }

  @Override
  public boolean add(T toAdd) {
    encode(toAdd);
    return queue.add(key.getSharedBuffer(), key.length()) && isFirst();
  }

  @Override
  public boolean remove(T toRemove) {
    encode(toRemove);
    boolean wasFirst = isFirst();
    return queue.remove(key.getSharedBuffer(), key.length()) && wasFirst;
  }

  /** Whether the encoded timer is the first one, as Flink wants to know when that changes. */
  private boolean isFirst() {
    byte[] first = queue.first();
    return first != null
        && Arrays.equals(first, 0, first.length, key.getSharedBuffer(), 0, key.length());
  }

  @Override
  public void addAll(@Nullable Collection<? extends T> toAdd) {
    if (toAdd != null) {
      for (T element : toAdd) {
        boolean unused = add(element);
      }
    }
  }

  private void encode(T element) {
    try {
      key.clear();
      key.write(prefix);
      serializer.serialize(element, key);
    } catch (IOException e) {
      throw Failures.serializing("timer " + element, e);
    }
  }

  @Override
  public @Nullable T peek() {
    byte[] first = queue.first();
    if (first == null) {
      peekedKey = null;
      peeked = null;
      return null;
    }
    T element = peeked;
    if (element == null || peekedKey != first) {
      element = decode(first);
      peeked = element;
      peekedKey = first;
    }
    return element;
  }

  @Override
  public @Nullable T poll() {
    T element = peek();
    if (element != null) {
      queue.removeFirst();
    }
    return element;
  }

  private T decode(byte[] whole) {
    try {
      in.setBuffer(whole, prefix.length, whole.length - prefix.length);
      return serializer.deserialize(in);
    } catch (IOException e) {
      throw Failures.deserializing("a timer", e);
    }
  }

  @Override
  public boolean isEmpty() {
    return queue.first() == null;
  }

  @Override
  public int size() {
    int size = 0;
    try (TableScan scan = bytes.scan(prefix, prefix.length)) {
      while (scan.next()) {
        size++;
      }
    }
    return size;
  }

  @Override
  public CloseableIterator<T> iterator() {
    return new Elements();
  }

  /** All elements in chunks, between which no scan is open. */
  private final class Elements implements CloseableIterator<T> {

    private final ArrayDeque<byte[]> chunk = new ArrayDeque<>();
    private boolean ended;
    private byte @Nullable [] last;

    @Override
    public boolean hasNext() {
      if (chunk.isEmpty() && !ended) {
        fill();
      }
      return !chunk.isEmpty();
    }

    private void fill() {
      byte[] after = last;
      try (TableScan scan =
          after == null
              ? bytes.scan(prefix, prefix.length)
              : bytes.scanFrom(prefix, prefix.length, after, after.length)) {
        while (scan.next()) {
          byte[] whole = Arrays.copyOf(scan.key(), scan.keyLength());
          if (after != null && Arrays.equals(whole, after)) {
            continue;
          }
          chunk.add(whole);
          if (chunk.size() == CHUNK) {
            last = whole;
            return;
          }
        }
      }
      ended = true;
    }

    @Override
    public T next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return decode(chunk.remove());
    }

    @Override
    public void close() {
      chunk.clear();
      ended = true;
    }
  }
}
