package io.alluvium.testkit.table;

import io.alluvium.spi.Operation;
import io.alluvium.spi.SortedChanges;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A simple implementation of {@link SortedChanges}, for tests of tables. Confined to one thread.
 */
public final class CoalescedChanges implements SortedChanges {

  private static final int KEY_OFFSET = 2;
  private static final int VALUE_OFFSET = 1;

  private record Entry(Operation operation, byte[] value) {}

  private final TreeMap<byte[], Entry> entries = new TreeMap<>(Arrays::compareUnsigned);
  private final List<byte[]> rangeDeletes = new ArrayList<>();
  private final Iterator<Map.Entry<byte[], Entry>> walk;
  private byte[] key = new byte[0];
  private byte[] value = new byte[0];
  private Entry entry = new Entry(Operation.DELETE, new byte[0]);

  public CoalescedChanges(List<Change> changes) {
    changes.forEach(this::add);
    walk = entries.entrySet().iterator();
  }

  private void add(Change change) {
    switch (change.operation()) {
      case PUT, DELETE -> entries.put(change.key(), new Entry(change.operation(), change.value()));
      case MERGE -> entries.compute(change.key(), (ignored, before) -> merged(change, before));
      case DELETE_RANGE -> {
        entries.keySet().removeIf(candidate -> startsWith(candidate, change.key()));
        rangeDeletes.removeIf(prefix -> startsWith(prefix, change.key()));
        if (rangeDeletes.stream().noneMatch(prefix -> startsWith(change.key(), prefix))) {
          rangeDeletes.add(change.key());
        }
      }
    }
  }

  private static Entry merged(Change change, @Nullable Entry before) {
    if (before == null) {
      return new Entry(Operation.MERGE, change.value());
    }
    byte[] all = Arrays.copyOf(before.value, before.value.length + change.value().length);
    System.arraycopy(change.value(), 0, all, before.value.length, change.value().length);
    return new Entry(before.operation == Operation.DELETE ? Operation.PUT : before.operation, all);
  }

  private static boolean startsWith(byte[] key, byte[] prefix) {
    return key.length >= prefix.length
        && Arrays.equals(key, 0, prefix.length, prefix, 0, prefix.length);
  }

  @Override
  public List<byte[]> rangeDeletes() {
    return rangeDeletes.stream().sorted(Arrays::compareUnsigned).toList();
  }

  @Override
  public int entries() {
    return entries.size();
  }

  @Override
  public long sizeBytes() {
    long size = 0;
    for (Map.Entry<byte[], Entry> each : entries.entrySet()) {
      size += each.getKey().length + each.getValue().value.length;
    }
    return size;
  }

  @Override
  public boolean next() {
    if (!walk.hasNext()) {
      return false;
    }
    Map.Entry<byte[], Entry> next = walk.next();
    key = padded(next.getKey(), KEY_OFFSET);
    entry = next.getValue();
    value = padded(entry.value, VALUE_OFFSET);
    return true;
  }

  /** Copies the bytes into a longer array, between bytes that must be ignored. */
  private static byte[] padded(byte[] bytes, int offset) {
    byte[] padded = new byte[offset + bytes.length + 1];
    Arrays.fill(padded, (byte) 0x77);
    System.arraycopy(bytes, 0, padded, offset, bytes.length);
    return padded;
  }

  @Override
  public Operation operation() {
    return entry.operation;
  }

  @Override
  public byte[] keyArray() {
    return key;
  }

  @Override
  public int keyOffset() {
    return KEY_OFFSET;
  }

  @Override
  public int keyLength() {
    return key.length - KEY_OFFSET - 1;
  }

  @Override
  public byte[] valueArray() {
    return value;
  }

  @Override
  public int valueOffset() {
    return VALUE_OFFSET;
  }

  @Override
  public int valueLength() {
    return entry.value.length;
  }
}
