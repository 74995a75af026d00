package io.alluvium.dstl;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;

/** Segments in the memory of the process, as far as a log needs a blob store. Thread-safe. */
final class MemorySegments implements BlobStore {

  /** Of the process, so that its next backend finds them; names hold 128 random bits. */
  private static final ConcurrentNavigableMap<String, byte[]> SEGMENTS =
      new ConcurrentSkipListMap<>();

  @Override
  public void put(String name, List<ByteBuffer> content) {
    int size = 0;
    for (ByteBuffer part : content) {
      size = Math.addExact(size, part.remaining());
    }
    ByteBuffer all = ByteBuffer.allocate(size);
    for (ByteBuffer part : content) {
      all.put(part.duplicate());
    }
    SEGMENTS.put(name, all.array());
  }

  @Override
  public void putFile(String name, Path file) {
    throw onlySegments();
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    throw onlySegments();
  }

  private static StateBackendException onlySegments() {
    return StateBackendException.internal("the changelog in memory stores nothing but segments");
  }

  @Override
  public OptionalLong size(String name) {
    byte[] bytes = SEGMENTS.get(name);
    return bytes == null ? OptionalLong.empty() : OptionalLong.of(bytes.length);
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    byte[] bytes = SEGMENTS.get(name);
    if (bytes == null) {
      throw StateBackendException.corrupt(
          "segment '"
              + name
              + "' is missing: a changelog in memory (state.backend.changelog.storage = memory)"
              + " does not survive its process");
    }
    int from = (int) Math.min(offset, bytes.length);
    return new ByteArrayInputStream(bytes, from, (int) Math.min(length, bytes.length - from));
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    List<BlobInfo> found = new ArrayList<>();
    SEGMENTS
        .tailMap(prefix)
        .forEach(
            (name, bytes) -> {
              if (name.startsWith(prefix)) {
                found.add(new BlobInfo(name, bytes.length, Instant.EPOCH));
              }
            });
    return found;
  }

  @Override
  public void delete(Collection<String> names) {
    names.forEach(SEGMENTS::remove);
  }

  @Override
  public String uri() {
    return "memory:";
  }

  @Override
  public void close() {}
}
