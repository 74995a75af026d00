package io.alluvium.rocksdb;

import io.alluvium.config.Configuration;
import java.util.Optional;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.Filter;
import org.rocksdb.WriteBufferManager;

/**
 * The native memory that all tables of one {@link RocksDbTables} share: their own, or what their
 * host shares further. Thread-safe; what it makes is owned by {@link RocksDbTables}.
 */
final class SharedMemory {

  private static final long MAX_ARENA_BLOCK = 1 << 20;
  private static final long MIN_ARENA_BLOCK = 16 << 10;

  private final RocksDbHost.Memory memory;
  private final Optional<Filter> filter;

  SharedMemory(Configuration configuration, RocksDbHost host, Natives natives) {
    this.memory = host.memory().orElseGet(() -> own(configuration, natives));
    this.filter =
        configuration.get(RocksDbOptions.BLOOM_FILTER)
            ? Optional.of(
                natives.add(new BloomFilter(configuration.get(RocksDbOptions.BLOOM_BITS))))
            : Optional.empty();
  }

  private static RocksDbHost.Memory own(Configuration configuration, Natives natives) {
    MemoryBudget budget =
        new MemoryBudget(
            configuration.get(RocksDbOptions.MEMORY),
            configuration.get(RocksDbOptions.WRITE_BUFFER_RATIO),
            configuration.get(RocksDbOptions.HIGH_PRIO_RATIO));
    Cache cache =
        natives.add(
            budget.newCache(
                configuration.get(RocksDbOptions.STRICT_LIMIT)
                    ? MemoryBudget.Limit.STRICT
                    : MemoryBudget.Limit.SOFT));
    WriteBufferManager writeBuffers = natives.add(budget.newWriteBuffers(cache));
    return new RocksDbHost.Memory(
        cache, budget.cacheBytes(), Optional.of(writeBuffers), budget.writeBufferBytes());
  }

  Cache cache() {
    return memory.cache();
  }

  long cacheBytes() {
    return memory.cacheBytes();
  }

  /** Empty when nothing bounds the memory. */
  Optional<WriteBufferManager> writeBuffers() {
    return memory.writeBuffers();
  }

  Optional<Filter> filter() {
    return filter;
  }

  /**
   * The unit in which a write buffer takes memory: small against the limit, or a few tables with
   * one block each would fill it and flush after every write. 0 leaves it to RocksDB.
   */
  long arenaBlockBytes() {
    return memory.writeBuffers().isEmpty()
        ? 0
        : Math.max(MIN_ARENA_BLOCK, Math.min(MAX_ARENA_BLOCK, memory.writeBufferBytes() / 64));
  }
}
