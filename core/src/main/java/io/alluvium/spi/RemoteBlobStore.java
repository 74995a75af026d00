package io.alluvium.spi;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A blob store behind a network: a request may take long although the next one would not, may be
 * refused because there are too many, can be given up midway, and costs money. Thread-safe.
 */
public interface RemoteBlobStore extends BlobStore {

  /**
   * As {@link #put(String, List)}, until nobody needs it any more.
   *
   * @param givenUp once this is completed, the call fails with {@code UNAVAILABLE} without waiting
   *     for an answer. Its connection is closed; the put may still take effect at any later time,
   *     with the bytes that were given or not at all
   */
  void put(String name, List<ByteBuffer> content, CompletableFuture<?> givenUp);

  /** As {@link #putIfAbsent(String, byte[])}, until nobody needs it any more. */
  boolean putIfAbsent(String name, byte[] content, CompletableFuture<?> givenUp);

  @Override
  default void put(String name, List<ByteBuffer> content) {
    put(name, content, new CompletableFuture<>());
  }

  @Override
  default boolean putIfAbsent(String name, byte[] content) {
    return putIfAbsent(name, content, new CompletableFuture<>());
  }

  /** Tells the listener of every request from now on; replaces the one before. */
  void listen(RequestListener listener);
}
