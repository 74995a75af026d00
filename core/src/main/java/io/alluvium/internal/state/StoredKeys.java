package io.alluvium.internal.state;

import io.alluvium.internal.backend.KeyContext;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.TableScan;
import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * The keys that have something stored in one namespace of a state, one scan per key group, opened
 * when it is reached. Confined to the task thread.
 *
 * <p>A row is one contiguous range of keys and belongs to one key and namespace: comparing with the
 * row before is enough to give each key once.
 */
final class StoredKeys<K> implements Iterator<K> {

  private static final String OF = " of a stream of keys";

  private final StateAccess<K> access;
  private final int stateId;
  private final byte[] namespace;
  private final ByteReader reader = new ByteReader();
  private final ByteWriter prefix = new ByteWriter();
  private final ByteWriter lastRow = new ByteWriter();
  private int nextKeyGroup;
  private boolean closed;
  private @Nullable TableScan scan;
  private OpenScans.@Nullable Lease lease;
  private @Nullable K next;

  private StoredKeys(StateAccess<K> access, int stateId, byte[] namespace) {
    this.access = access;
    this.stateId = stateId;
    this.namespace = namespace;
    this.nextKeyGroup = access.keyContext.keyGroups().from();
  }

  static <K> Stream<K> stream(StateAccess<K> access, int stateId, byte[] namespace) {
    access.checkOpen();
    StoredKeys<K> keys = new StoredKeys<>(access, stateId, namespace);
    return StreamSupport.stream(
            Spliterators.spliteratorUnknownSize(keys, Spliterator.DISTINCT | Spliterator.NONNULL),
            false)
        .onClose(keys::close);
  }

  @Override
  public boolean hasNext() {
    access.enter("hasNext", OF);
    while (next == null && !closed) {
      access.checkOpen();
      TableScan current = scan == null ? openNext() : scan;
      if (current == null) {
        return false;
      }
      if (current.next()) {
        next = keyOf(current);
      } else {
        closeScan();
      }
    }
    return next != null;
  }

  @Override
  public K next() {
    access.enter("next", OF);
    if (!hasNext() || next == null) {
      throw new NoSuchElementException();
    }
    K key = next;
    next = null;
    return key;
  }

  private @Nullable TableScan openNext() {
    KeyContext<K> keys = access.keyContext;
    if (nextKeyGroup >= keys.keyGroups().to()) {
      return null;
    }
    prefix.clear();
    KeyLayout.writeState(prefix, nextKeyGroup++, stateId);
    lastRow.clear();
    TableScan opened = access.writePath.scan(prefix);
    lease = access.scans.open(this, opened);
    scan = opened;
    return opened;
  }

  /** The key of the row that the scan stands in, if it is a new row of the wanted namespace. */
  private @Nullable K keyOf(TableScan at) {
    byte[] key = at.key();
    int lastLength = lastRow.length();
    if (lastLength > 0
        && lastLength <= at.keyLength()
        && Arrays.equals(key, 0, lastLength, lastRow.array(), 0, lastLength)) {
      return null;
    }
    int rowLength = KeyLayout.rowLength(key, 0, at.keyLength());
    lastRow.clear();
    lastRow.writeBytes(key, 0, rowLength);
    byte[] row = lastRow.array();
    reader.reset(row, prefix.length(), rowLength - prefix.length());
    int keyLength = reader.readVarInt();
    int keyAt = reader.position();
    reader.skip(keyLength);
    int namespaceLength = reader.readVarInt();
    int namespaceAt = reader.position();
    if (!Arrays.equals(
        row, namespaceAt, namespaceAt + namespaceLength, namespace, 0, namespace.length)) {
      return null;
    }
    reader.reset(row, keyAt, keyLength);
    return access.keyContext.readKey(reader);
  }

  private void closeScan() {
    scan = null;
    if (lease != null) {
      lease.close();
      lease = null;
    }
  }

  private void close() {
    if (access.isOpen()) {
      access.enter("close", OF);
    }
    closed = true;
    next = null;
    closeScan();
  }
}
