package io.alluvium.internal.state;

import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.TableScan;
import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over one row of a map state as it was at the start. Reads ahead in chunks, so that a
 * small map holds no scan open. Confined to the task thread.
 */
final class MapEntries<UK, UV> implements Iterator<Map.Entry<UK, UV>> {

  private static final int CHUNK_ENTRIES = 64;
  private static final int CHUNK_BYTES = 64 << 10;

  private final StateView state;
  private final Codec<UK> userKeys;
  private final Codec<UV> values;
  private final int rowLength;

  /** Per entry: key length, value length (four bytes each), key, value. */
  private final ByteWriter chunk = new ByteWriter(256);

  private final ByteReader chunkReader = new ByteReader();
  private final ByteReader part = new ByteReader();
  private final ByteWriter lastKey = new ByteWriter();
  private boolean canRemove;
  private @Nullable TableScan scan;
  private OpenScans.@Nullable Lease lease;

  MapEntries(StateView state, ByteWriter row, Codec<UK> userKeys, Codec<UV> values) {
    this.state = state;
    this.userKeys = userKeys;
    this.values = values;
    this.rowLength = row.length();
    TableScan opened = state.access.writePath.scan(row);
    this.scan = opened;
    boolean filled = false;
    try {
      fill(opened);
      filled = true;
    } finally {
      if (!filled) {
        opened.close();
      }
    }
    if (scan != null) {
      lease = state.access.scans.open(this, opened);
    }
  }

  private void fill(TableScan from) {
    chunk.clear();
    for (int count = 0; count < CHUNK_ENTRIES && chunk.length() < CHUNK_BYTES; count++) {
      if (!from.next()) {
        scan = null;
        if (lease == null) {
          from.close();
        } else {
          lease.close();
        }
        break;
      }
      chunk.writeInt(from.keyLength());
      chunk.writeInt(from.valueLength());
      chunk.writeBytes(from.key(), 0, from.keyLength());
      chunk.writeBytes(from.value(), 0, from.valueLength());
    }
    chunkReader.reset(chunk.array(), 0, chunk.length());
  }

  @Override
  public boolean hasNext() {
    state.enter("hasNext of an iterator");
    if (chunkReader.remaining() == 0 && scan != null) {
      state.access.checkOpen();
      fill(scan);
    }
    return chunkReader.remaining() > 0;
  }

  @Override
  public Map.Entry<UK, UV> next() {
    state.enter("next of an iterator");
    state.access.checkOpen();
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    int keyLength = chunkReader.readInt();
    int valueLength = chunkReader.readInt();
    lastKey.clear();
    lastKey.writeBytes(chunkReader.array(), chunkReader.position(), keyLength);
    canRemove = true;
    part.reset(chunkReader.array(), chunkReader.position() + rowLength, keyLength - rowLength);
    UK userKey = userKeys.readAll(part);
    chunkReader.skip(keyLength);
    part.reset(chunkReader.array(), chunkReader.position(), valueLength);
    UV value = values.readAll(part);
    chunkReader.skip(valueLength);
    return new SimpleImmutableEntry<>(userKey, value);
  }

  @Override
  public void remove() {
    state.enter("remove of an iterator");
    if (!canRemove) {
      throw new IllegalStateException("remove() must follow a next()");
    }
    canRemove = false;
    state.access.writePath.delete(lastKey);
  }
}
