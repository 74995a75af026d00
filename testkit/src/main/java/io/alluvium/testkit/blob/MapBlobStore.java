package io.alluvium.testkit.blob;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Stores blobs in a map, for tests, which may inspect, copy and damage its content. Fails if a name
 * is written again with other bytes. Thread-safe; guarded by {@code this}.
 */
public final class MapBlobStore implements BlobStore {

  @GuardedBy("this")
  private final TreeMap<String, byte[]> blobs;

  @GuardedBy("this")
  private boolean closed;

  public MapBlobStore() {
    this(Map.of());
  }

  /** A store with this initial content. */
  public MapBlobStore(Map<String, byte[]> blobs) {
    this.blobs = new TreeMap<>(blobs);
  }

  /** All current blobs; the arrays are shared and must not be changed. */
  public synchronized Map<String, byte[]> content() {
    return new TreeMap<>(blobs);
  }

  /** Inverts one bit of a stored blob. */
  public synchronized void flip(String name, int at, int bit) {
    byte[] bytes = existing(name).clone();
    bytes[at] ^= (byte) (1 << bit);
    blobs.put(name, bytes);
  }

  /** Truncates a stored blob. */
  public synchronized void truncate(String name, int length) {
    blobs.put(name, Arrays.copyOf(existing(name), length));
  }

  /** Restores the content of a damaged blob. */
  public synchronized void restore(String name, byte[] bytes) {
    blobs.put(name, bytes);
  }

  @GuardedBy("this")
  private byte[] existing(String name) {
    byte[] bytes = blobs.get(name);
    if (bytes == null) {
      throw StateBackendException.corrupt("blob '" + name + "' is missing");
    }
    return bytes;
  }

  @Override
  public void put(String name, List<ByteBuffer> content) {
    int size = content.stream().mapToInt(ByteBuffer::remaining).sum();
    ByteBuffer all = ByteBuffer.allocate(size);
    content.forEach(part -> all.put(part.duplicate()));
    store(name, all.array());
  }

  @Override
  public void putFile(String name, Path file) {
    try {
      store(name, Files.readAllBytes(file));
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot read file '" + file + "': " + e.getMessage(), e);
    }
  }

  private synchronized void store(String name, byte[] bytes) {
    check(name);
    byte[] before = blobs.putIfAbsent(name, bytes);
    if (before != null && !Arrays.equals(before, bytes)) {
      throw new AssertionError("blob '" + name + "' is written again with other bytes");
    }
  }

  @Override
  public synchronized boolean putIfAbsent(String name, byte[] content) {
    check(name);
    return blobs.putIfAbsent(name, content.clone()) == null;
  }

  @Override
  public synchronized OptionalLong size(String name) {
    check(name);
    byte[] bytes = blobs.get(name);
    return bytes == null ? OptionalLong.empty() : OptionalLong.of(bytes.length);
  }

  @Override
  public synchronized InputStream open(String name, long offset, long length) {
    check(name);
    byte[] bytes = existing(name);
    int from = (int) Math.min(offset, bytes.length);
    return new ByteArrayInputStream(bytes, from, (int) Math.min(length, bytes.length - from));
  }

  @Override
  public synchronized List<BlobInfo> list(String prefix) {
    checkOpen();
    List<BlobInfo> found = new ArrayList<>();
    blobs
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
  public synchronized void delete(Collection<String> names) {
    names.forEach(this::check);
    names.forEach(blobs::remove);
  }

  @Override
  public String uri() {
    return "map:";
  }

  @Override
  public synchronized void close() {
    closed = true;
  }

  @GuardedBy("this")
  private void checkOpen() {
    if (closed) {
      throw StateBackendException.closed("the blob store 'map:' is closed");
    }
  }

  @GuardedBy("this")
  private void check(String name) {
    checkOpen();
    boolean plain = name.matches("[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*");
    if (!plain || List.of(name.split("/")).contains("..")) {
      throw StateBackendException.invalid(
          "'" + name + "' is not the name of a blob; use letters, digits and ._/-");
    }
  }
}
