package io.alluvium.dstl;

import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;

/** Counts what is really read from the streams of another store. Confined to one thread. */
final class CountingStore implements BlobStore {

  private final BlobStore store;
  private int opened;
  private long bytesRead;

  CountingStore(BlobStore store) {
    this.store = store;
  }

  int opened() {
    return opened;
  }

  long bytesRead() {
    return bytesRead;
  }

  void forget() {
    opened = 0;
    bytesRead = 0;
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    opened++;
    return new FilterInputStream(store.open(name, offset, length)) {
      @Override
      public int read() throws IOException {
        int b = super.read();
        bytesRead += b < 0 ? 0 : 1;
        return b;
      }

      @Override
      public int read(byte[] into, int at, int count) throws IOException {
        int got = super.read(into, at, count);
        bytesRead += Math.max(0, got);
        return got;
      }

      @Override
      public long skip(long count) throws IOException {
        long skipped = super.skip(count);
        bytesRead += skipped;
        return skipped;
      }
    };
  }

  @Override
  public void put(String name, List<ByteBuffer> content) {
    store.put(name, content);
  }

  @Override
  public void putFile(String name, Path file) {
    store.putFile(name, file);
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    return store.putIfAbsent(name, content);
  }

  @Override
  public OptionalLong size(String name) {
    return store.size(name);
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    return store.list(prefix);
  }

  @Override
  public void delete(Collection<String> names) {
    store.delete(names);
  }

  @Override
  public String uri() {
    return store.uri();
  }

  @Override
  public void close() {
    store.close();
  }
}
