package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import java.util.Optional;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.Filter;
import org.rocksdb.LRUCache;
import org.rocksdb.WriteBufferManager;

/**
 * The native memory that all tables of a process share. Thread-safe; owned by {@link
 * RocksDbTables}.
 *
 * <p>One budget {@code M} covers everything. Write buffers are charged to the block cache, and
 * RocksDB lets them exceed the limit of their manager by half while full ones are being written. So
 * with the share {@code r} of write buffers the manager's limit is {@code 2/3 r M}, the cache's
 * capacity {@code M - r M / 3}, and their common worst case is {@code M}: the excess of half of
 * {@code 2/3 r M} is what the cache leaves free. (Apache Flink divides its memory the same way.)
 */
final class SharedMemory {

  private static final long MAX_ARENA_BLOCK = 1 << 20;
  private static final long MIN_ARENA_BLOCK = 16 << 10;

  /** A shard of the block cache is at least as large, unless the cache is smaller. */
  private static final long SHARD_BYTES = 32L << 20;

  private final long cacheBytes;
  private final long writeBufferBytes;
  private final Cache cache;
  private final WriteBufferManager writeBuffers;
  private final Optional<Filter> filter;

  SharedMemory(Configuration configuration, Natives natives) {
    long total = configuration.get(RocksDbOptions.MEMORY);
    double ratio = configuration.get(RocksDbOptions.WRITE_BUFFER_RATIO);
    double highPrio = configuration.get(RocksDbOptions.HIGH_PRIO_RATIO);
    if (ratio + highPrio >= 1.0) {
      throw StateBackendException.invalid(
          "'"
              + RocksDbOptions.WRITE_BUFFER_RATIO.key()
              + "' ("
              + ratio
              + ") and '"
              + RocksDbOptions.HIGH_PRIO_RATIO.key()
              + "' ("
              + highPrio
              + ") must sum to less than 1");
    }
    this.cacheBytes = (long) (total * (3 - ratio) / 3);
    this.writeBufferBytes = (long) (total * 2 * ratio / 3);
    this.cache =
        natives.add(
            new LRUCache(
                cacheBytes,
                shardBits(cacheBytes),
                configuration.get(RocksDbOptions.STRICT_LIMIT),
                highPrio));
    this.writeBuffers = natives.add(new WriteBufferManager(writeBufferBytes, cache));
    this.filter =
        configuration.get(RocksDbOptions.BLOOM_FILTER)
            ? Optional.of(
                natives.add(new BloomFilter(configuration.get(RocksDbOptions.BLOOM_BITS))))
            : Optional.empty();
  }

  long cacheBytes() {
    return cacheBytes;
  }

  long writeBufferBytes() {
    return writeBufferBytes;
  }

  Cache cache() {
    return cache;
  }

  WriteBufferManager writeBuffers() {
    return writeBuffers;
  }

  Optional<Filter> filter() {
    return filter;
  }

  /**
   * The unit in which a write buffer takes memory: small against the limit, or a few tables with
   * one block each would fill it and flush after every write.
   */
  long arenaBlockBytes() {
    return Math.max(MIN_ARENA_BLOCK, Math.min(MAX_ARENA_BLOCK, writeBufferBytes / 64));
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
