package io.alluvium.internal.heap;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.alluvium.KeyGroupRange;
import io.alluvium.internal.backend.KeyContext;
import io.alluvium.internal.backend.WritePath;
import io.alluvium.internal.state.StateRegistry;
import io.alluvium.serializer.Serializers;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Operation;
import io.alluvium.state.MapState;
import io.alluvium.state.Namespaced;
import io.alluvium.state.ReducingState;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Typed states over a heap table allocate only the user's objects. */
final class StateAllocationTest {

  private static final int KEYS = 200;
  private static final int ROUNDS = 100;

  /** Size of one boxed number. */
  private static final int LONG_BYTES = 24;

  /** A changelog that only counts the changes. */
  private static final class Counting implements Changelog {
    private long next;

    @Override
    public void awaitRoom() {}

    @Override
    public void append(
        Operation operation, byte[] key, int keyLength, byte[] value, int valueLength) {
      next++;
    }

    @Override
    public long nextSqn() {
      return next;
    }

    @Override
    public long seal() {
      return next;
    }

    @Override
    public CompletableFuture<List<BlockRef>> persist(long from) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long durableUpTo() {
      return 0;
    }

    @Override
    public void trim(long sqn) {}

    @Override
    public long bytesSince(long sqn) {
      return 0;
    }

    @Override
    public Set<BlobName> liveBlobs() {
      return Set.of();
    }

    @Override
    public void close() {}
  }

  private final KeyGroupRange keyGroups = new KeyGroupRange(0, 8);
  private final KeyContext<String> keys = new KeyContext<>(Serializers.string(), 8, keyGroups);
  private final StateRegistry<String> registry =
      new StateRegistry<>(
          new WritePath(new HeapTable(keyGroups, new QueuedExecution()), new Counting()),
          keys,
          List.of());
  private final String[] names = new String[KEYS];

  private void assertAllocatesPerOperation(int bytes, Runnable operation) {
    for (int i = 0; i < KEYS; i++) {
      names[i] = "key-" + i;
    }
    // Twice: the first round inserts, the second one replaces.
    for (int round = 0; round < 2; round++) {
      for (String name : names) {
        keys.setCurrentKey(name);
        operation.run();
      }
    }
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int round = 0; round < ROUNDS; round++) {
      for (String name : names) {
        keys.setCurrentKey(name);
        operation.run();
      }
    }
    long allocated = threads.getCurrentThreadAllocatedBytes() - before;
    assertThat(allocated / (double) (ROUNDS * KEYS)).isLessThan(bytes + 1.0);
  }

  @Test
  void value_readModifyWrite_allocatesOnlyValues() {
    ValueState<Long> state = registry.state(StateDescriptor.value("v", Serializers.int64()));
    assertAllocatesPerOperation(
        2 * LONG_BYTES,
        () -> {
          Long value = state.value();
          state.update(value == null ? 1_000_000 : value + 1);
        });
  }

  @Test
  void reducing_addInANamespace_allocatesOnlyValues() {
    Namespaced<Long, ReducingState<Long>> state =
        registry.state(
            StateDescriptor.reducing("r", Serializers.int64(), Long::sum), Serializers.int64());
    Long namespace = 77_777L;
    Long one = 1_000L;
    assertAllocatesPerOperation(2 * LONG_BYTES, () -> state.in(namespace).add(one));
  }

  @Test
  void map_getAndPut_allocateOnlyValues() {
    MapState<String, Long> state =
        registry.state(StateDescriptor.map("m", Serializers.string(), Serializers.int64()));
    Long value = 5_000L;
    assertAllocatesPerOperation(
        LONG_BYTES,
        () -> {
          Long unused = state.get("user");
          state.put("user", value);
        });
  }
}
