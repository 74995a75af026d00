package io.alluvium.flink;

import io.alluvium.spi.TableScan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over one row of a map state in chunks; between two chunks no scan is open, so that an
 * iterator that is dropped half-way pins nothing. Confined to the task thread.
 */
final class MapIterator<UK, UV, T> implements Iterator<T> {

  private static final int FIRST_CHUNK = 64;
  private static final int LARGEST_CHUNK = 4096;
  private static final int CHUNK_BYTES = 1 << 20;

  private final MapKvState<?, ?, UK, UV> state;
  private final byte[] row;
  private final Function<MapEntry<UK, UV>, T> part;
  private final List<MapEntry<UK, UV>> chunk = new ArrayList<>();
  private int next;
  private int chunkSize = FIRST_CHUNK;
  private boolean ended;
  private byte @Nullable [] last;
  private @Nullable MapEntry<UK, UV> current;

  MapIterator(MapKvState<?, ?, UK, UV> state, byte[] row, Function<MapEntry<UK, UV>, T> part) {
    this.state = state;
    this.row = row;
    this.part = part;
  }

  @Override
  public boolean hasNext() {
    if (next == chunk.size() && !ended) {
      fill();
    }
    return next < chunk.size();
  }

  private void fill() {
    chunk.clear();
    next = 0;
    byte[] after = last;
    int bytes = 0;
    try (TableScan scan =
        after == null
            ? state.access.bytes.scan(row, row.length)
            : state.access.bytes.scanFrom(row, row.length, after, after.length)) {
      ended = true;
      while (scan.next()) {
        if (after != null
            && Arrays.equals(scan.key(), 0, scan.keyLength(), after, 0, after.length)) {
          continue;
        }
        byte[] key = Arrays.copyOf(scan.key(), scan.keyLength());
        byte[] value = Arrays.copyOf(scan.value(), scan.valueLength());
        chunk.add(state.entryAt(key, value, row.length));
        last = key;
        bytes += key.length + value.length;
        if (chunk.size() == chunkSize || bytes > CHUNK_BYTES) {
          ended = false;
          break;
        }
      }
    }
    chunkSize = Math.min(LARGEST_CHUNK, 2 * chunkSize);
  }

  @Override
  public T next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    MapEntry<UK, UV> entry = chunk.get(next++);
    current = entry;
    return part.apply(entry);
  }

  @Override
  public void remove() {
    MapEntry<UK, UV> entry = current;
    if (entry == null || entry.isRemoved()) {
      throw new IllegalStateException(
          "The remove operation must be called after a valid next operation.");
    }
    entry.remove();
  }
}
