package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.flink.rocksdb.NativeObjects;
import io.alluvium.flink.rocksdb.NativeObjects.Seen;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.runtime.util.TestingTaskManagerRuntimeInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Where RocksDB's memory comes from, and who shares it, is as in Flink's own RocksDB backend. */
final class MemoryTest {

  private static final long MB = 1 << 20;
  private static final String PREFIX = "state.backend.rocksdb.memory.";
  private static final String UNMANAGED = PREFIX + "managed";
  private static final String PER_SLOT = PREFIX + "fixed-per-slot";
  private static final String PER_TASK_MANAGER = PREFIX + "fixed-per-tm";

  private static MockEnvironment slot(Configuration cluster) {
    return new MockEnvironmentBuilder()
        .setManagedMemorySize(32 * MB)
        .setTaskManagerRuntimeInfo(new TestingTaskManagerRuntimeInfo(cluster))
        .build();
  }

  private static TestKeyedBackend<Integer> open(MockEnvironment slot, Map<String, String> config) {
    return TestKeyedBackend.open(
        Configuration.fromMap(config),
        slot,
        new TestKeyedBackend.Parameters<>(
            IntSerializer.INSTANCE,
            KeyGroupRange.of(0, 1),
            2,
            TtlTimeProvider.DEFAULT,
            List.<KeyedStateHandle>of()));
  }

  @Test
  void managedShareThatIsSmall_isEnoughToWork() {
    MockEnvironment slot = new MockEnvironmentBuilder().setManagedMemorySize(3 * MB / 2).build();
    open(slot, Map.of()).close();
  }

  @Test
  void fixedPerTm_doesNotCountWhileMemoryIsManaged() {
    Configuration cluster = Configuration.fromMap(Map.of(PER_TASK_MANAGER, "64 mb"));
    MockEnvironment slot = slot(cluster);
    long all = slot.getMemoryManager().availableMemory();
    try (var backend = open(slot, cluster.toMap())) {
      assertThat(backend.get()).isNotNull();
      assertThat(slot.getMemoryManager().availableMemory()).isLessThan(all);
    }
  }

  /** Flink's precedence: fixed per slot, managed, fixed per TaskManager, none. */
  @ParameterizedTest
  @CsvSource({
    // job: fixed-per-slot, managed; cluster: fixed-per-tm; what is shared by whom, of how much
    "64 mb, true, 16 mb, SLOT, 64",
    "64 mb, false, 16 mb, SLOT, 64",
    "'', true, 16 mb, SLOT, 32",
    "'', false, 16 mb, TASK_MANAGER, 16",
    "'', false, '', NOBODY, 0",
  })
  void oneBudget_isSharedAsInFlink(
      String perSlot, String managed, String perTaskManager, String sharedBy, long megabytes)
      throws Exception {
    Configuration cluster = new Configuration();
    if (!perTaskManager.isEmpty()) {
      cluster.setString(PER_TASK_MANAGER, perTaskManager);
    }
    Configuration job = new Configuration();
    job.setString(UNMANAGED, managed);
    if (!perSlot.isEmpty()) {
      job.setString(PER_SLOT, perSlot);
    }
    // The TaskManager's is read from the cluster's configuration only, as in Flink.
    job.setString(PER_TASK_MANAGER, "1 gb");
    MockEnvironment first = slot(cluster);
    MockEnvironment second = slot(cluster);
    NativeObjects.shareTaskManager(first, second);
    try (Seen a = NativeObjects.lease(job, first);
        Seen b = NativeObjects.lease(job, first);
        Seen c = NativeObjects.lease(job, second)) {
      boolean inSlot = !sharedBy.equals("NOBODY");
      boolean inTaskManager = sharedBy.equals("TASK_MANAGER");
      assertThat(a.cache() == b.cache()).isEqualTo(inSlot);
      assertThat(a.cache() == c.cache()).isEqualTo(inTaskManager);
      assertThat(a.writeBuffers().isPresent()).isEqualTo(inSlot);
      if (inSlot) {
        assertThat(a.writeBuffers().get()).isSameAs(b.writeBuffers().get());
        assertThat(a.writeBuffers().get() == c.writeBuffers().get()).isEqualTo(inTaskManager);
        // Flink's formulas at the default ratio of a half.
        assertThat(a.cacheBytes()).isEqualTo(megabytes * MB * 5 / 6);
        assertThat(a.writeBufferBytes()).isEqualTo(megabytes * MB / 3);
      } else {
        assertThat(a.cacheBytes()).isEqualTo(8 * MB);
      }
    }
    first.close();
    second.close();
  }

  @Test
  void lastLease_freesTheMemory_andLeavesItToOthersBefore() throws Exception {
    MockEnvironment slot = slot(new Configuration());
    Configuration job = Configuration.fromMap(Map.of(PER_SLOT, "64 mb"));
    Seen first = NativeObjects.lease(job, slot);
    Seen second = NativeObjects.lease(job, slot);
    first.close();
    assertThat(second.cacheIsOpen()).isTrue();
    second.close();
    assertThat(second.cacheIsOpen()).isFalse();
    slot.close();
  }

  @Test
  void ratiosOfTheTaskManagersMemory_areTheClusters() throws Exception {
    Configuration cluster =
        Configuration.fromMap(
            Map.of(
                PER_TASK_MANAGER,
                "30 mb",
                PREFIX + "write-buffer-ratio",
                "0.3",
                PREFIX + "partitioned-index-filters",
                "true"));
    MockEnvironment slot = slot(cluster);
    Configuration job =
        Configuration.fromMap(Map.of(UNMANAGED, "false", PREFIX + "write-buffer-ratio", "0.6"));
    try (Seen seen = NativeObjects.lease(job, slot)) {
      assertThat(seen.writeBufferBytes()).isEqualTo(6 * MB);
      assertThat(seen.partitionedIndex()).isTrue();
    }
    slot.close();
  }
}
