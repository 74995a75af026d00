package io.alluvium.internal.remote;

import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Pace;
import io.alluvium.spi.RequestListener;
import io.alluvium.spi.RequestListener.Verb;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/** A store whose every call is one request, as on a directory. Thread-safe. */
final class CountedBlobStore implements BlobStore {

  private final BlobStore store;
  private final RequestListener listener;

  CountedBlobStore(BlobStore store, RequestListener listener) {
    this.store = store;
    this.listener = listener;
  }

  @Override
  public void put(String name, List<ByteBuffer> content) {
    listener.requested(Verb.PUT, name, Sizes.of(content));
    store.put(name, content);
  }

  @Override
  public void putFile(String name, Path file) {
    putFile(name, file, Pace.NONE);
  }

  @Override
  public void putFile(String name, Path file, Pace pace) {
    listener.requested(Verb.PUT, name, sizeOf(file));
    store.putFile(name, file, pace);
  }

  @Override
  public CompletableFuture<Void> beginPutFile(String name, Path file, Pace pace) {
    listener.requested(Verb.PUT, name, sizeOf(file));
    return store.beginPutFile(name, file, pace);
  }

  private static long sizeOf(Path file) {
    try {
      return Files.size(file);
    } catch (IOException e) {
      // The store will say what is wrong with it.
      return 0;
    }
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    listener.requested(Verb.PUT, name, content.length);
    return store.putIfAbsent(name, content);
  }

  @Override
  public OptionalLong size(String name) {
    listener.requested(Verb.GET, name, 0);
    return store.size(name);
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    listener.requested(Verb.GET, name, length);
    return store.open(name, offset, length);
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    listener.requested(Verb.LIST, prefix, 0);
    return store.list(prefix);
  }

  @Override
  public void delete(Collection<String> names) {
    listener.requested(Verb.DELETE, "", 0);
    store.delete(names);
  }

  @Override
  public void deleteLeftovers(Duration olderThan) {
    store.deleteLeftovers(olderThan);
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
