package io.alluvium.internal.restore;

import io.alluvium.StateBackendException;
import io.alluvium.internal.blob.MemoryBlobStore;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.TableFile;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;

/** Table files in memory; reads are counted and fail when told to. Thread-safe. */
final class FaultyStore implements BlobStore {

  private final BlobStore blobs =
      new MemoryBlobStore(new MemoryBlobStore.Content(), "memory:restore", () -> 0);
  private final AtomicLong names = new AtomicLong();
  private final AtomicInteger opened = new AtomicInteger();
  private final AtomicInteger unavailable = new AtomicInteger();
  private volatile Runnable beforeOpen = () -> {};

  /** Stores a table file. */
  TableFile store(String name, byte[] content, boolean immutable) {
    BlobName blob =
        new BlobName(new Incarnation(1, 2), names.incrementAndGet(), BlobName.Kind.TABLE);
    blobs.put(blob.toString(), List.of(ByteBuffer.wrap(content)));
    return new TableFile(name, blob, content.length, crc32c(content), immutable);
  }

  static int crc32c(byte[] content) {
    CRC32C crc = new CRC32C();
    crc.update(content);
    return (int) crc.getValue();
  }

  /** Puts other bytes where a file's are. */
  void damage(TableFile file, byte[] content) {
    blobs.delete(List.of(file.blob().toString()));
    blobs.put(file.blob().toString(), List.of(ByteBuffer.wrap(content)));
  }

  /** So many reads fail from now on. */
  void failReads(int count) {
    unavailable.set(count);
  }

  void beforeOpen(Runnable action) {
    beforeOpen = action;
  }

  int opened() {
    return opened.get();
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    opened.incrementAndGet();
    beforeOpen.run();
    if (unavailable.getAndUpdate(count -> Math.max(0, count - 1)) > 0) {
      throw StateBackendException.of(
          StateBackendException.Kind.UNAVAILABLE, "the store does not answer");
    }
    return blobs.open(name, offset, length);
  }

  @Override
  public void put(String name, List<ByteBuffer> content) {
    blobs.put(name, content);
  }

  @Override
  public void putFile(String name, Path file) {
    blobs.putFile(name, file);
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    return blobs.putIfAbsent(name, content);
  }

  @Override
  public OptionalLong size(String name) {
    return blobs.size(name);
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    return blobs.list(prefix);
  }

  @Override
  public void delete(Collection<String> blobNames) {
    blobs.delete(blobNames);
  }

  @Override
  public String uri() {
    return blobs.uri();
  }

  @Override
  public void close() {
    blobs.close();
  }
}
