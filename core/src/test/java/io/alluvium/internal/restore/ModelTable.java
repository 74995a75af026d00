package io.alluvium.internal.restore;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Operation;
import io.alluvium.spi.SortedChanges;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableScan;
import io.alluvium.spi.TableSnapshot;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/** The simplest table: a sorted map. Guarded by {@code this}. */
final class ModelTable implements Table {

  static final Comparator<byte[]> ORDER = Arrays::compareUnsigned;

  private final TreeMap<byte[], byte[]> rows = new TreeMap<>(ORDER);
  private boolean closed;
  private int applied;
  private volatile Runnable beforeApply = () -> {};
  private String refusal = "";

  /** Entries applied in bulk. */
  synchronized int applied() {
    return applied;
  }

  /** Runs before each batch is applied, for as long as it likes. */
  void beforeApply(Runnable action) {
    beforeApply = action;
  }

  /** From now on nothing is applied in bulk. */
  synchronized void refuse(String reason) {
    refusal = reason;
  }

  synchronized boolean isClosed() {
    return closed;
  }

  synchronized Map<byte[], byte[]> rows() {
    return rows;
  }

  synchronized ModelTable copy() {
    ModelTable copy = new ModelTable();
    copy.rows.putAll(rows);
    return copy;
  }

  synchronized void apply(Change change) {
    apply(change.operation(), change.key(), change.value());
  }

  synchronized void apply(Operation operation, byte[] key, byte[] value) {
    switch (operation) {
      case PUT -> rows.put(key, value);
      case DELETE -> rows.remove(key);
      case DELETE_RANGE -> rows.keySet().removeIf(row -> startsWith(row, key));
      case MERGE -> rows.merge(key, value, ModelTable::join);
    }
  }

  /** Checks what {@link SortedChanges} promises, and applies it. */
  @Override
  public void apply(SortedChanges changes) {
    beforeApply.run();
    applyChecked(changes);
  }

  private synchronized void applyChecked(SortedChanges changes) {
    check(!closed, "a closed table must be left alone");
    if (!refusal.isEmpty()) {
      throw StateBackendException.of(StateBackendException.Kind.UNAVAILABLE, refusal);
    }
    byte[] lastPrefix = null;
    for (byte[] prefix : changes.rangeDeletes()) {
      check(lastPrefix == null || ORDER.compare(lastPrefix, prefix) < 0, "prefixes must ascend");
      check(lastPrefix == null || !startsWith(prefix, lastPrefix), "a prefix covers another");
      lastPrefix = prefix;
      apply(Operation.DELETE_RANGE, prefix, new byte[0]);
    }
    int count = 0;
    long size = 0;
    byte[] lastKey = null;
    while (changes.next()) {
      byte[] key = slice(changes.keyArray(), changes.keyOffset(), changes.keyLength());
      byte[] value = slice(changes.valueArray(), changes.valueOffset(), changes.valueLength());
      check(lastKey == null || ORDER.compare(lastKey, key) < 0, "keys must ascend");
      check(changes.operation() != Operation.DELETE_RANGE, "no range deletion among the entries");
      lastKey = key;
      count++;
      size += key.length + value.length;
      apply(changes.operation(), key, value);
    }
    applied += count;
    check(count == changes.entries(), "entries() must count the entries");
    check(size == changes.sizeBytes(), "sizeBytes() must sum up keys and values");
  }

  static boolean startsWith(byte[] key, byte[] prefix) {
    return key.length >= prefix.length
        && Arrays.equals(key, 0, prefix.length, prefix, 0, prefix.length);
  }

  private static void check(boolean condition, String rule) {
    if (!condition) {
      throw new AssertionError(rule);
    }
  }

  private static byte[] slice(byte[] array, int offset, int length) {
    return Arrays.copyOfRange(array, offset, offset + length);
  }

  static byte[] join(byte[] first, byte[] second) {
    byte[] joined = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, joined, first.length, second.length);
    return joined;
  }

  synchronized boolean holdsTheSameAs(ModelTable other) {
    if (rows.size() != other.rows().size()) {
      return false;
    }
    for (Map.Entry<byte[], byte[]> row : rows.entrySet()) {
      byte[] value = other.rows().get(row.getKey());
      if (value == null || !Arrays.equals(value, row.getValue())) {
        return false;
      }
    }
    return true;
  }

  @Override
  public boolean get(byte[] key, int keyLength, ByteWriter into) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void put(byte[] key, int keyLength, byte[] value, int valueLength) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void delete(byte[] key, int keyLength) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void deleteRange(byte[] prefix, int prefixLength) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void merge(byte[] key, int keyLength, byte[] operand, int operandLength) {
    throw new UnsupportedOperationException();
  }

  @Override
  public TableScan scan(byte[] prefix, int prefixLength) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletableFuture<TableSnapshot> snapshot(Path directory) {
    throw new UnsupportedOperationException();
  }

  @Override
  public TableSnapshot snapshotNow(Path directory) {
    throw new UnsupportedOperationException();
  }

  @Override
  public synchronized void close() {
    closed = true;
  }
}
