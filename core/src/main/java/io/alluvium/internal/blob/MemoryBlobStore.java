package io.alluvium.internal.blob;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.StoreNames;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.LongSupplier;

/**
 * Stores blobs in the memory of this process, for tests: they are lost when it ends. Thread-safe;
 * stored blobs are immutable.
 */
public final class MemoryBlobStore implements BlobStore {

  /**
   * The stored blobs. Several stores may share them, so that a test can reopen a store.
   * Thread-safe.
   */
  public static final class Content {
    private final ConcurrentNavigableMap<String, Blob> blobs = new ConcurrentSkipListMap<>();
  }

  private record Blob(byte[] bytes, Instant lastModified) {}

  private final Content content;
  private final String uri;
  private final LongSupplier currentTimeMillis;
  private volatile boolean closed;

  /**
   * @param uri for messages
   * @param currentTimeMillis clock for the modification times of blobs
   */
  public MemoryBlobStore(Content content, String uri, LongSupplier currentTimeMillis) {
    this.content = content;
    this.uri = uri;
    this.currentTimeMillis = currentTimeMillis;
  }

  @Override
  public void put(String name, List<ByteBuffer> parts) {
    check(name);
    content.blobs.put(name, blob(concatenate(parts)));
  }

  private static byte[] concatenate(List<ByteBuffer> parts) {
    int length = 0;
    for (ByteBuffer part : parts) {
      length = Math.addExact(length, part.remaining());
    }
    ByteBuffer all = ByteBuffer.allocate(length);
    for (ByteBuffer part : parts) {
      all.put(part.duplicate());
    }
    return all.array();
  }

  private Blob blob(byte[] bytes) {
    return new Blob(bytes, Instant.ofEpochMilli(currentTimeMillis.getAsLong()));
  }

  @Override
  public void putFile(String name, Path file) {
    check(name);
    try {
      content.blobs.put(name, blob(Files.readAllBytes(file)));
    } catch (IOException e) {
      throw StateBackendException.of(
          StateBackendException.Kind.INVALID,
          "cannot store blob '" + name + "': local file '" + file + "' is not readable",
          e);
    }
  }

  @Override
  public boolean putIfAbsent(String name, byte[] bytes) {
    check(name);
    return content.blobs.putIfAbsent(name, blob(bytes.clone())) == null;
  }

  @Override
  public OptionalLong size(String name) {
    check(name);
    Blob blob = content.blobs.get(name);
    return blob == null ? OptionalLong.empty() : OptionalLong.of(blob.bytes.length);
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    check(name);
    Blob blob = content.blobs.get(name);
    if (blob == null) {
      throw StateBackendException.corrupt(name, 0, "the blob", "nothing of that name");
    }
    int from = (int) Math.min(offset, blob.bytes.length);
    return new ByteArrayInputStream(
        blob.bytes, from, (int) Math.min(length, blob.bytes.length - from));
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    checkOpen();
    List<BlobInfo> found = new ArrayList<>();
    content
        .blobs
        .tailMap(prefix)
        .forEach(
            (name, blob) -> {
              if (name.startsWith(prefix)) {
                found.add(new BlobInfo(name, blob.bytes.length, blob.lastModified));
              }
            });
    return found;
  }

  @Override
  public void delete(Collection<String> names) {
    checkOpen();
    names.forEach(StoreNames::check);
    names.forEach(content.blobs::remove);
  }

  @Override
  public String uri() {
    return uri;
  }

  @Override
  public void close() {
    closed = true;
  }

  private void check(String name) {
    checkOpen();
    StoreNames.check(name);
  }

  private void checkOpen() {
    if (closed) {
      throw StateBackendException.closed("the blob store '" + uri + "' is closed");
    }
  }
}
