package io.alluvium.flink.rocksdb;

import java.lang.reflect.Field;
import java.util.Optional;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.rocksdb.Cache;
import org.rocksdb.WriteBufferManager;

/** Shows tests of the adapter which native objects a keyed backend uses. Not thread-safe. */
public final class NativeObjects {

  private NativeObjects() {}

  public static Seen lease(Configuration job, MockEnvironment slot) throws Exception {
    return new Seen(RocksDbMemory.lease(RocksDbMemory.Wanted.of(job, 8 << 20), slot, 1.0));
  }

  /** Makes two slots those of one TaskManager. */
  public static void shareTaskManager(MockEnvironment one, MockEnvironment other) throws Exception {
    Field shared = MockEnvironment.class.getDeclaredField("sharedResources");
    shared.setAccessible(true);
    shared.set(other, one.getSharedResources());
  }

  public record Seen(RocksDbMemory lease) implements AutoCloseable {
    public Cache cache() {
      return lease.memory().cache();
    }

    public boolean cacheIsOpen() {
      return cache().isOwningHandle();
    }

    public long cacheBytes() {
      return lease.memory().cacheBytes();
    }

    public Optional<WriteBufferManager> writeBuffers() {
      return lease.memory().writeBuffers();
    }

    public long writeBufferBytes() {
      return lease.memory().writeBufferBytes();
    }

    public boolean partitionedIndex() {
      return lease.partitionedIndex();
    }

    @Override
    public void close() {
      lease.close();
    }
  }
}
