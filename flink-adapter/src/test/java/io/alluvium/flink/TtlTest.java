package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.RunnableFuture;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SavepointResources;
import org.apache.flink.runtime.state.SavepointSnapshotStrategy;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategyRunner;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;
import org.apache.flink.runtime.state.ttl.MockTtlTimeProvider;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What expires goes: from savepoints, and in the background as other keys are used. */
final class TtlTest {

  private static final KeyGroupRange GROUPS = KeyGroupRange.of(0, 9);
  private static final int KEYS = 50;

  private final MockTtlTimeProvider time = new MockTtlTimeProvider();

  private final ValueStateDescriptor<String> value =
      with(new ValueStateDescriptor<>("value", String.class));
  private final ListStateDescriptor<String> list =
      with(new ListStateDescriptor<>("list", String.class));
  private final MapStateDescriptor<String, String> map =
      with(new MapStateDescriptor<>("map", String.class, String.class));

  private static <D extends StateDescriptor<?, ?>> D with(D descriptor) {
    descriptor.enableTimeToLive(
        StateTtlConfig.newBuilder(Duration.ofMillis(100))
            .cleanupFullSnapshot()
            .cleanupIncrementally(5, false)
            .build());
    return descriptor;
  }

  private TestKeyedBackend<Integer> open(Backends kind, List<KeyedStateHandle> handles) {
    return TestKeyedBackend.open(kind, IntSerializer.INSTANCE, GROUPS, 10, time, handles);
  }

  private void fill(AbstractKeyedStateBackend<Integer> backend, int from, int to) throws Exception {
    for (int key = from; key < to; key++) {
      backend.setCurrentKey(key);
      value(backend).update("v" + key);
      list(backend).addAll(List.of("a" + key, "b" + key));
      map(backend).put("k", "m" + key);
    }
  }

  private ValueState<String> value(AbstractKeyedStateBackend<Integer> backend) throws Exception {
    return backend.getPartitionedState(
        VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, value);
  }

  private ListState<String> list(AbstractKeyedStateBackend<Integer> backend) throws Exception {
    return backend.getPartitionedState(
        VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, list);
  }

  private MapState<String, String> map(AbstractKeyedStateBackend<Integer> backend)
      throws Exception {
    return backend.getPartitionedState(
        VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, map);
  }

  @ParameterizedTest
  @EnumSource(Backends.class)
  void incrementalCleanup_removesWhatExpired_andNothingElse(Backends kind) throws Exception {
    try (TestKeyedBackend<Integer> opened = open(kind, List.of())) {
      AbstractKeyedStateBackend<Integer> backend = opened.get();
      time.time = 0;
      fill(backend, 0, KEYS);
      int entries = backend.numKeyValueStateEntries();
      assertThat(entries).isEqualTo(3 * KEYS);
      time.time = 150;
      fill(backend, 1000, 1001);
      for (int access = 0; access < 4 * KEYS; access++) {
        backend.setCurrentKey(1000);
        assertThat(value(backend).value()).isEqualTo("v1000");
        assertThat(list(backend).get()).containsExactly("a1000", "b1000");
        assertThat(map(backend).get("k")).isEqualTo("m1000");
      }
      assertThat(backend.numKeyValueStateEntries()).isEqualTo(3);
    }
  }

  @ParameterizedTest
  @EnumSource(Backends.class)
  void canonicalSavepoint_leavesOutWhatExpired(Backends kind) throws Exception {
    KeyedStateHandle handle;
    try (TestKeyedBackend<Integer> opened = open(kind, List.of())) {
      AbstractKeyedStateBackend<Integer> backend = opened.get();
      time.time = 0;
      fill(backend, 0, 3);
      time.time = 60;
      backend.setCurrentKey(1);
      list(backend).add("c1");
      fill(backend, 5, 6);
      time.time = 120;
      handle = savepoint(backend);
    }
    try (TestKeyedBackend<Integer> opened = open(kind, List.of(handle))) {
      AbstractKeyedStateBackend<Integer> backend = opened.get();
      // Without looking at the time: what is there now was in the savepoint.
      time.time = 0;
      backend.setCurrentKey(5);
      assertThat(value(backend).value()).isEqualTo("v5");
      assertThat(list(backend).get()).containsExactly("a5", "b5");
      assertThat(map(backend).get("k")).isEqualTo("m5");
      backend.setCurrentKey(1);
      assertThat(value(backend).value()).isNull();
      assertThat(list(backend).get()).containsExactly("c1");
      assertThat(backend.numKeyValueStateEntries()).isEqualTo(4);
    }
  }

  private static KeyedStateHandle savepoint(AbstractKeyedStateBackend<Integer> backend)
      throws Exception {
    SavepointResources<Integer> resources = backend.savepoint();
    RunnableFuture<SnapshotResult<KeyedStateHandle>> future =
        new SnapshotStrategyRunner<>(
                "savepoint",
                new SavepointSnapshotStrategy<>(resources.getSnapshotResources()),
                new CloseableRegistry(),
                resources.getPreferredSnapshotExecutionType())
            .snapshot(
                1,
                1,
                new MemCheckpointStreamFactory(4 << 20),
                CheckpointOptions.forConfig(
                    SavepointType.savepoint(SavepointFormatType.CANONICAL),
                    CheckpointStorageLocationReference.getDefault(),
                    true,
                    false,
                    0));
    future.run();
    KeyedStateHandle handle = future.get().getJobManagerOwnedSnapshot();
    assertThat(handle).isNotNull();
    return handle;
  }
}
