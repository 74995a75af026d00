package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import org.rocksdb.Cache;
import org.rocksdb.LRUCache;
import org.rocksdb.WriteBufferManager;

/**
 * How one amount of native memory {@code M} is divided between blocks and write buffers. Immutable.
 *
 * <p>Write buffers are charged to the block cache, and RocksDB lets them exceed the limit of their
 * manager by half while full ones are being written. So with the share {@code r} of write buffers
 * the manager's limit is {@code 2/3 r M}, the cache's capacity {@code M - r M / 3}, and their
 * common worst case is {@code M}: the excess of half of {@code 2/3 r M} is what the cache leaves
 * free. (Apache Flink divides its memory the same way.)
 *
 * @param totalBytes {@code M}
 * @param writeBufferRatio {@code r}, between 0 and 1
 * @param highPrioRatio share of the cache that is kept for index and filter blocks
 */
public record MemoryBudget(long totalBytes, double writeBufferRatio, double highPrioRatio) {

  /** A shard of the block cache is at least as large, unless the cache is smaller. */
  private static final long SHARD_BYTES = 32L << 20;

  public MemoryBudget {
    if (2 * writeBufferRatio / (3 - writeBufferRatio) + highPrioRatio >= 1.0) {
      throw StateBackendException.invalid(
          "'"
              + RocksDbOptions.WRITE_BUFFER_RATIO.key()
              + "' ("
              + writeBufferRatio
              + ") and '"
              + RocksDbOptions.HIGH_PRIO_RATIO.key()
              + "' ("
              + highPrioRatio
              + ") leave no room for data blocks; lower one of them");
    }
  }

  /** Capacity of the block cache. */
  public long cacheBytes() {
    return (long) ((3 - writeBufferRatio) * totalBytes / 3);
  }

  /** Limit of the write buffers. */
  public long writeBufferBytes() {
    return (long) (2 * totalBytes * writeBufferRatio / 3);
  }

  /** Makes the block cache, which the caller closes; it may exceed its capacity for a moment. */
  public Cache newCache() {
    return newCache(Limit.SOFT);
  }

  /** Makes a cache that no write buffers are charged to, which the caller closes. */
  public static Cache newCache(long bytes) {
    NativeLibrary.load();
    return new LRUCache(bytes);
  }

  /** Makes the limit of write buffers, which the caller closes. */
  public WriteBufferManager newWriteBuffers(Cache cache) {
    return new WriteBufferManager(writeBufferBytes(), cache);
  }

  /** What happens when the cache is full of blocks that are in use. */
  enum Limit {
    SOFT,
    /** A read fails instead of exceeding the capacity. */
    STRICT
  }

  Cache newCache(Limit limit) {
    NativeLibrary.load();
    return new LRUCache(
        cacheBytes(), shardBits(cacheBytes()), limit == Limit.STRICT, highPrioRatio);
  }

  /**
   * RocksDB's own choice gives shards of half a megabyte and more; the index of one file is larger
   * than that, finds no place in its shard, and is read and parsed again for every key.
   */
  private static int shardBits(long cacheBytes) {
    int bits = 63 - Long.numberOfLeadingZeros(Math.max(1, cacheBytes / SHARD_BYTES));
    return Math.min(6, bits);
  }
}
