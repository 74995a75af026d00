package io.alluvium.flink.rocksdb;

import io.alluvium.rocksdb.MemoryBudget;
import io.alluvium.rocksdb.RocksDbHost;
import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.core.memory.ManagedMemoryUseCase;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.memory.MemoryManager;
import org.apache.flink.runtime.memory.OpaqueMemoryResource;
import org.apache.flink.runtime.memory.SharedResources;
import org.apache.flink.state.rocksdb.RocksDBOptions;
import org.apache.flink.util.IOUtils;
import org.apache.flink.util.function.LongFunctionWithException;
import org.rocksdb.Cache;
import org.rocksdb.WriteBufferManager;

/**
 * One keyed backend's lease of native memory, shared as Flink's own RocksDB backend shares it:
 * {@code fixed-per-slot} goes before {@code managed}, that before the TaskManager's {@code
 * fixed-per-tm}; without any of them each keyed operator has a cache of its own and no limit.
 * Closed by its backend, after the tables; the last lease frees. Thread-safe.
 *
 * <p>What Flink keeps for a whole TaskManager are RocksDB's objects, not ours: jobs whose jars hold
 * this class each have a class of their own, and still share them. The cache is leased first and
 * given back last, so that write buffers never outlive the cache that they are charged to.
 */
public final class RocksDbMemory implements AutoCloseable {

  private static final String CACHE = "state-alluvium-rocksdb-cache";
  private static final String WRITE_BUFFERS = "state-alluvium-rocksdb-write-buffers";

  /** With less, RocksDB writes a file for every few hundred kilobytes. */
  private static final long SMALL_BYTES = 4 << 20;

  /**
   * What a job's configuration says. Immutable; travels with the job.
   *
   * @param fixedPerSlotBytes 0 when it is not given
   * @param blockCacheBytes of each keyed operator when nothing is shared
   */
  public record Wanted(long fixedPerSlotBytes, boolean managed, Shares shares, long blockCacheBytes)
      implements Serializable {

    public static Wanted of(ReadableConfig config, long blockCacheBytes) {
      return new Wanted(
          config
              .getOptional(RocksDBOptions.FIX_PER_SLOT_MEMORY_SIZE)
              .map(MemorySize::getBytes)
              .orElse(0L),
          config.get(RocksDBOptions.USE_MANAGED_MEMORY),
          Shares.of(config),
          blockCacheBytes);
    }

    /** Whether a slot's managed memory is used. */
    public boolean usesManagedMemory() {
      return managed && fixedPerSlotBytes == 0;
    }
  }

  /** How memory is divided. Immutable. */
  public record Shares(double writeBufferRatio, double highPrioRatio, boolean partitionedIndex)
      implements Serializable {

    static Shares of(ReadableConfig config) {
      return new Shares(
          config.get(RocksDBOptions.WRITE_BUFFER_RATIO),
          config.get(RocksDBOptions.HIGH_PRIORITY_POOL_RATIO),
          config.get(RocksDBOptions.USE_PARTITIONED_INDEX_FILTERS));
    }

    MemoryBudget budget(long totalBytes) {
      return new MemoryBudget(totalBytes, writeBufferRatio, highPrioRatio);
    }
  }

  private final Deque<AutoCloseable> leases = new ArrayDeque<>();
  private final RocksDbHost.Memory memory;
  private final long totalBytes;
  private final boolean partitionedIndex;

  /** Leases memory for one keyed backend of the environment's slot. */
  public static RocksDbMemory lease(Wanted wanted, Environment env, double managedFraction)
      throws Exception {
    MemoryManager slot = env.getMemoryManager();
    if (wanted.fixedPerSlotBytes() > 0) {
      return new RocksDbMemory(
          wanted.shares(),
          new Scope() {
            @Override
            public <T extends AutoCloseable> OpaqueMemoryResource<T> lease(
                String id, LongFunctionWithException<T, Exception> make) throws Exception {
              return slot.getExternalSharedMemoryResource(id, make, wanted.fixedPerSlotBytes());
            }
          });
    }
    if (wanted.managed()) {
      checkFraction(managedFraction);
      return new RocksDbMemory(
          wanted.shares(),
          new Scope() {
            @Override
            public <T extends AutoCloseable> OpaqueMemoryResource<T> lease(
                String id, LongFunctionWithException<T, Exception> make) throws Exception {
              // The cache stands for all of it; what is charged to it is not reserved again.
              return id.equals(CACHE)
                  ? slot.getSharedMemoryResourceForManagedMemory(id, make, managedFraction)
                  : slot.getExternalSharedMemoryResource(
                      id, make, slot.computeMemorySize(managedFraction));
            }
          });
    }
    Configuration cluster = env.getTaskManagerInfo().getConfiguration();
    long perTaskManager =
        cluster
            .getOptional(RocksDBOptions.FIX_PER_TM_MEMORY_SIZE)
            .map(MemorySize::getBytes)
            .orElse(0L);
    if (perTaskManager > 0) {
      return new RocksDbMemory(
          Shares.of(cluster), new TaskManagerScope(env.getSharedResources(), perTaskManager));
    }
    return new RocksDbMemory(wanted);
  }

  private static void checkFraction(double managedFraction) {
    if (managedFraction <= 0) {
      throw new IllegalArgumentException(
          "The managed memory fraction of the state backend is "
              + managedFraction
              + "; give '"
              + ManagedMemoryUseCase.STATE_BACKEND
              + "' a weight in 'taskmanager.memory.managed.consumer-weights', or set '"
              + RocksDBOptions.USE_MANAGED_MEMORY.key()
              + "' to false");
    }
  }

  /** Where resources are shared under their id. */
  private interface Scope {
    <T extends AutoCloseable> OpaqueMemoryResource<T> lease(
        String id, LongFunctionWithException<T, Exception> make) throws Exception;
  }

  private record TaskManagerScope(SharedResources shared, long bytes) implements Scope {
    @Override
    public <T extends AutoCloseable> OpaqueMemoryResource<T> lease(
        String id, LongFunctionWithException<T, Exception> make) throws Exception {
      Object holder = new Object();
      SharedResources.ResourceAndSize<T> resource =
          shared.getOrAllocateSharedResource(id, holder, make, bytes);
      return new OpaqueMemoryResource<>(
          resource.resourceHandle(),
          resource.size(),
          () -> shared.release(id, holder, unused -> {}));
    }
  }

  private RocksDbMemory(Shares shares, Scope scope) throws Exception {
    partitionedIndex = shares.partitionedIndex();
    try {
      OpaqueMemoryResource<Cache> cache =
          kept(scope.lease(CACHE, bytes -> shares.budget(bytes).newCache()));
      totalBytes = cache.getSize();
      MemoryBudget budget = shares.budget(totalBytes);
      OpaqueMemoryResource<WriteBufferManager> writeBuffers =
          kept(
              scope.lease(
                  WRITE_BUFFERS, unused -> budget.newWriteBuffers(cache.getResourceHandle())));
      memory =
          new RocksDbHost.Memory(
              cache.getResourceHandle(),
              budget.cacheBytes(),
              Optional.of(writeBuffers.getResourceHandle()),
              budget.writeBufferBytes());
    } catch (Exception e) {
      close();
      throw e;
    }
  }

  /** Of one keyed operator alone. */
  private RocksDbMemory(Wanted wanted) {
    partitionedIndex = wanted.shares().partitionedIndex();
    totalBytes = Long.MAX_VALUE;
    Cache cache = MemoryBudget.newCache(wanted.blockCacheBytes());
    leases.push(cache);
    memory = new RocksDbHost.Memory(cache, wanted.blockCacheBytes(), Optional.empty(), 0);
  }

  private <T extends AutoCloseable> T kept(T lease) {
    leases.push(lease);
    return lease;
  }

  RocksDbHost.Memory memory() {
    return memory;
  }

  /** Whether indexes and filters are partitioned, which is said where the memory is. */
  public boolean partitionedIndex() {
    return partitionedIndex;
  }

  /** A sentence for the user when the memory is too small to work well. */
  public Optional<String> remark() {
    return totalBytes >= SMALL_BYTES
        ? Optional.empty()
        : Optional.of(
            "RocksDB has only "
                + (totalBytes >> 10)
                + " KB of memory in this slot and will write many small files; raise"
                + " 'taskmanager.memory.managed.size' or its fraction, or set '"
                + RocksDBOptions.FIX_PER_SLOT_MEMORY_SIZE.key()
                + "'");
  }

  @Override
  public void close() {
    IOUtils.closeAllQuietly(leases);
    leases.clear();
  }
}
