package io.alluvium.benchmarks;

import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Pace;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;

/** Records the times and sizes of the pieces that are sent to another store. Thread-safe. */
final class MeteredStore implements BlobStore {

  private final BlobStore store;
  private final TrafficLog log;

  MeteredStore(BlobStore store, TrafficLog log) {
    this.store = store;
    this.log = log;
  }

  @Override
  public void put(String name, List<ByteBuffer> content) {
    log.request();
    log.sent(name, content.stream().mapToLong(ByteBuffer::remaining).sum());
    store.put(name, content);
  }

  @Override
  public void putFile(String name, Path file) {
    putFile(name, file, Pace.NONE);
  }

  @Override
  public void putFile(String name, Path file, Pace pace) {
    log.request();
    store.putFile(
        name,
        file,
        bytes -> {
          pace.await(bytes);
          log.sent(name, bytes);
        });
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    log.request();
    log.sent(name, content.length);
    return store.putIfAbsent(name, content);
  }

  @Override
  public OptionalLong size(String name) {
    log.request();
    return store.size(name);
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    log.request();
    return store.open(name, offset, length);
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    log.request();
    return store.list(prefix);
  }

  @Override
  public void delete(Collection<String> names) {
    log.request();
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
