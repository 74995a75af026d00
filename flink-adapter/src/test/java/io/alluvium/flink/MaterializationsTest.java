package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStorageAccess;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.storage.FileSystemCheckpointStorage;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.runtime.util.TestingTaskManagerRuntimeInfo;
import org.apache.flink.util.function.SupplierWithException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** Materializations of many backends in a process, in a storage that is slow or hangs. */
final class MaterializationsTest {

  private static final ValueStateDescriptor<byte[]> STATE =
      new ValueStateDescriptor<>("value", BytePrimitiveArraySerializer.INSTANCE);
  private static final String COMPLETED = "materialization.completed.count";

  @TempDir private Path directory;

  /**
   * A backend that materializes all the time.
   *
   * @param stream of files that belong to the task
   */
  private TestKeyedBackend<Integer> open(
      Backends kind,
      Duration interval,
      int slots,
      SupplierWithException<CheckpointStateOutputStream, IOException> stream)
      throws IOException {
    Configuration configuration = kind.configuration();
    configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, interval);
    Configuration taskManager = new Configuration();
    taskManager.set(TaskManagerOptions.NUM_TASK_SLOTS, slots);
    MockEnvironment environment =
        new MockEnvironmentBuilder()
            .setTaskManagerRuntimeInfo(
                new TestingTaskManagerRuntimeInfo(taskManager, directory.resolve("local").toFile()))
            .build();
    environment.setCheckpointStorageAccess(storage(stream));
    return TestKeyedBackend.open(
        configuration,
        environment,
        new TestKeyedBackend.Parameters<>(
            IntSerializer.INSTANCE, KeyGroupRange.of(0, 0), 1, TtlTimeProvider.DEFAULT, List.of()));
  }

  private CheckpointStorageAccess storage(
      SupplierWithException<CheckpointStateOutputStream, IOException> stream) throws IOException {
    CheckpointStorageAccess real =
        new FileSystemCheckpointStorage(directory.toUri(), 0).createCheckpointStorage(new JobID());
    return (CheckpointStorageAccess)
        Proxy.newProxyInstance(
            MaterializationsTest.class.getClassLoader(),
            new Class<?>[] {CheckpointStorageAccess.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("createTaskOwnedStateStream")) {
                return stream.get();
              }
              try {
                return method.invoke(real, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private static void put(TestKeyedBackend<Integer> backend, int key, byte[] value)
      throws Exception {
    backend.get().setCurrentKey(key);
    ValueState<byte[]> state =
        backend
            .get()
            .getPartitionedState(VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, STATE);
    state.update(value);
  }

  @Test
  void materialization_thatHangs_holdsUpNoOther() throws Exception {
    Shelf stuck = new Shelf(Collections.nCopies(100, Shelf.Fate.STUCK));
    Shelf fine = new Shelf(List.of());
    Duration interval = Duration.ofMillis(20);
    try (TestKeyedBackend<Integer> hanging =
            open(Backends.ROCKSDB_CHANGELOG, interval, 1, stuck::open);
        TestKeyedBackend<Integer> other =
            open(Backends.ROCKSDB_CHANGELOG, interval, 1, fine::open)) {
      put(hanging, 1, new byte[10]);
      Eventually.that(() -> stuck.opened() > 0);
      put(other, 1, new byte[10]);
      Eventually.that(() -> other.counter(COMPLETED) > 0);
      assertThat(hanging.counter(COMPLETED)).isZero();
      stuck.release();
      Eventually.that(() -> hanging.counter(COMPLETED) > 0);
    }
  }

  /** A RocksDB table has at least three files; each waits until all have begun. */
  @Test
  void materialization_storesSeveralFilesAtOnce() throws Exception {
    Shelf stuck = new Shelf(Collections.nCopies(100, Shelf.Fate.STUCK));
    try (TestKeyedBackend<Integer> backend =
        open(Backends.ROCKSDB_CHANGELOG, Duration.ofMillis(20), 1, stuck::open)) {
      put(backend, 1, new byte[10]);
      Eventually.that(() -> stuck.opened() >= 3);
      stuck.release();
      Eventually.that(() -> backend.counter(COMPLETED) > 0);
    }
  }

  /**
   * 16 slots with four keyed operators each, 64 MB of new files a second, in streams of 8 MB a
   * second: heap tables of 2 MB, each stored whole every two seconds.
   */
  @Test
  @EnabledIfSystemProperty(
      named = "alluvium.full",
      matches = "true",
      disabledReason = "takes all of a machine for half a minute; run with -Pfull")
  void materializations_of64Backends_keepUp() throws Exception {
    int backends = 64;
    Duration interval = Duration.ofSeconds(2);
    AtomicInteger open = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    List<TestKeyedBackend<Integer>> all = new ArrayList<>();
    try {
      for (int i = 0; i < backends; i++) {
        all.add(
            open(
                Backends.HEAP_CHANGELOG,
                interval,
                16,
                () -> {
                  most.accumulateAndGet(open.incrementAndGet(), Math::max);
                  return new SlowStream(new Shelf(List.of()).open(), open);
                }));
        for (int key = 0; key <= 20; key++) {
          put(all.get(i), key, new byte[100_000]);
        }
      }
      int intervals = 6;
      long end = System.nanoTime() + interval.multipliedBy(intervals).toNanos();
      while (System.nanoTime() < end) {
        // A little log: what is bounded there is the memory of each backend, not of all 64.
        for (TestKeyedBackend<Integer> backend : all) {
          put(backend, 1, new byte[100]);
        }
        Thread.sleep(1);
      }
      long fewest = all.stream().mapToLong(backend -> backend.counter(COMPLETED)).min().orElse(0);
      long sum = all.stream().mapToLong(backend -> backend.counter(COMPLETED)).sum();
      System.out.printf(
          "%d backends, %d intervals of %s: at least %d materializations of each, %.1f on average,"
              + " at most %d streams at once%n",
          backends, intervals, interval, fewest, (double) sum / backends, most.get());
      // The first one comes within an interval, the last may be under way.
      assertThat(fewest).isGreaterThanOrEqualTo(intervals - 3);
    } finally {
      all.forEach(TestKeyedBackend::close);
    }
  }

  /** Takes 8 MB a second. */
  private static final class SlowStream extends CheckpointStateOutputStream {
    private static final long BYTES_PER_SECOND = 8 << 20;

    private final CheckpointStateOutputStream out;
    private final AtomicInteger open;
    private final long startNanos = System.nanoTime();
    private long length;
    private boolean closed;

    SlowStream(CheckpointStateOutputStream out, AtomicInteger open) {
      this.out = out;
      this.open = open;
    }

    @Override
    public void write(int oneByte) throws IOException {
      write(new byte[] {(byte) oneByte}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int count) throws IOException {
      length += count;
      long due = startNanos + TimeUnit.SECONDS.toNanos(1) * length / BYTES_PER_SECOND;
      while (System.nanoTime() < due) {
        LockSupport.parkNanos(due - System.nanoTime());
      }
    }

    @Override
    public StreamStateHandle closeAndGetHandle() throws IOException {
      ended();
      return out.closeAndGetHandle();
    }

    @Override
    public void close() throws IOException {
      ended();
      out.close();
    }

    private void ended() {
      if (!closed) {
        closed = true;
        open.decrementAndGet();
      }
    }

    @Override
    public long getPos() {
      return length;
    }

    @Override
    public void flush() {}

    @Override
    public void sync() {}
  }
}
