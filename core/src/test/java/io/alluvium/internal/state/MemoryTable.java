package io.alluvium.internal.state;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.SortedChanges;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableScan;
import io.alluvium.spi.TableSnapshot;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The obvious table: a sorted map; scans copy. */
final class MemoryTable implements Table {

  final TreeMap<byte[], byte[]> rows = new TreeMap<>(Arrays::compareUnsigned);
  int openScans;
  int scansOpened;
  int gets;

  /** How many entries scans give before one fails, once; negative for never. */
  int entriesBeforeFailure = -1;

  byte @Nullable [] lastScanFrom;

  @Override
  public boolean get(byte[] key, int keyLength, ByteWriter into) {
    gets++;
    byte[] value = rows.get(Arrays.copyOf(key, keyLength));
    if (value == null) {
      return false;
    }
    into.clear();
    into.writeBytes(value);
    return true;
  }

  @Override
  public void put(byte[] key, int keyLength, byte[] value, int valueLength) {
    rows.put(Arrays.copyOf(key, keyLength), Arrays.copyOf(value, valueLength));
  }

  @Override
  public void delete(byte[] key, int keyLength) {
    rows.remove(Arrays.copyOf(key, keyLength));
  }

  @Override
  public void deleteRange(byte[] prefix, int prefixLength) {
    rows.keySet().removeIf(key -> startsWith(key, prefix, prefixLength));
  }

  static boolean startsWith(byte[] key, byte[] prefix, int prefixLength) {
    return key.length >= prefixLength
        && Arrays.equals(key, 0, prefixLength, prefix, 0, prefixLength);
  }

  @Override
  public void merge(byte[] key, int keyLength, byte[] operand, int operandLength) {
    rows.merge(
        Arrays.copyOf(key, keyLength),
        Arrays.copyOf(operand, operandLength),
        (old, added) -> {
          byte[] joined = Arrays.copyOf(old, old.length + added.length);
          System.arraycopy(added, 0, joined, old.length, added.length);
          return joined;
        });
  }

  @Override
  public TableScan scan(byte[] prefix, int prefixLength) {
    List<Map.Entry<byte[], byte[]>> entries = new ArrayList<>();
    for (Map.Entry<byte[], byte[]> entry :
        rows.tailMap(Arrays.copyOf(prefix, prefixLength)).entrySet()) {
      if (!startsWith(entry.getKey(), prefix, prefixLength)) {
        break;
      }
      entries.add(Map.entry(entry.getKey(), entry.getValue()));
    }
    openScans++;
    scansOpened++;
    return new Scan(entries.iterator());
  }

  @Override
  public TableScan scanFrom(byte[] prefix, int prefixLength, byte[] from, int fromLength) {
    lastScanFrom = Arrays.copyOf(from, fromLength);
    return Table.super.scanFrom(prefix, prefixLength, from, fromLength);
  }

  private final class Scan implements TableScan {

    private final Iterator<Map.Entry<byte[], byte[]>> entries;
    private Map.Entry<byte[], byte[]> current = Map.entry(new byte[0], new byte[0]);
    private boolean closed;

    Scan(Iterator<Map.Entry<byte[], byte[]>> entries) {
      this.entries = entries;
    }

    @Override
    public boolean next() {
      if (closed) {
        throw new IllegalStateException("the scan is closed");
      }
      if (entriesBeforeFailure == 0) {
        entriesBeforeFailure = -1;
        throw StateBackendException.unavailable("the disk is away", new IOException("test"));
      }
      if (!entries.hasNext()) {
        return false;
      }
      if (entriesBeforeFailure > 0) {
        entriesBeforeFailure--;
      }
      current = entries.next();
      return true;
    }

    @Override
    public byte[] key() {
      return current.getKey();
    }

    @Override
    public int keyLength() {
      return current.getKey().length;
    }

    @Override
    public byte[] value() {
      return current.getValue();
    }

    @Override
    public int valueLength() {
      return current.getValue().length;
    }

    @Override
    public void close() {
      if (!closed) {
        closed = true;
        openScans--;
      }
    }
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
  public void apply(SortedChanges changes) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {}
}
