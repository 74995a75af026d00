package io.alluvium.benchmarks;

import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;

/** A blob store that discards every blob. Thread-safe. */
final class DiscardingStore implements BlobStore {

  @Override
  public void put(String name, List<ByteBuffer> content) {}

  @Override
  public void putFile(String name, Path file) {}

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    return true;
  }

  @Override
  public OptionalLong size(String name) {
    return OptionalLong.empty();
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    return InputStream.nullInputStream();
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    return List.of();
  }

  @Override
  public void delete(Collection<String> names) {}

  @Override
  public String uri() {
    return "nowhere:";
  }

  @Override
  public void close() {}
}
