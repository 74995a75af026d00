package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.queryablestate.client.state.serialization.KvStateSerializer;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.internal.InternalKvState;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Flink's queryable state: reads from other threads, while the task works and while it ends. */
final class QueriesTest {

  private static final int KEYS = 50;

  private static TestKeyedBackend<Integer> open(Backends kind) {
    return TestKeyedBackend.open(
        kind.configuration(),
        new MockEnvironmentBuilder().build(),
        new TestKeyedBackend.Parameters<>(
            IntSerializer.INSTANCE, KeyGroupRange.of(0, 3), 4, TtlTimeProvider.DEFAULT, List.of()));
  }

  private static ValueState<Integer> value(TestKeyedBackend<Integer> backend) throws Exception {
    return backend
        .get()
        .getPartitionedState(
            VoidNamespace.INSTANCE,
            VoidNamespaceSerializer.INSTANCE,
            new ValueStateDescriptor<>("value", IntSerializer.INSTANCE));
  }

  private static MapState<Integer, Integer> map(TestKeyedBackend<Integer> backend)
      throws Exception {
    return backend
        .get()
        .getPartitionedState(
            VoidNamespace.INSTANCE,
            VoidNamespaceSerializer.INSTANCE,
            new MapStateDescriptor<>("map", IntSerializer.INSTANCE, IntSerializer.INSTANCE));
  }

  /** As the server of a TaskManager does it: with serializers of its own. */
  @SuppressWarnings("unchecked")
  private static <V> byte @Nullable [] query(Object state, int key) throws Exception {
    InternalKvState<Integer, VoidNamespace, V> queried =
        (InternalKvState<Integer, VoidNamespace, V>) state;
    return queried.getSerializedValue(
        KvStateSerializer.serializeKeyAndNamespace(
            key, IntSerializer.INSTANCE, VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE),
        IntSerializer.INSTANCE,
        VoidNamespaceSerializer.INSTANCE,
        queried.getValueSerializer().duplicate());
  }

  @ParameterizedTest
  @EnumSource(value = Backends.class, names = "HEAP_CHANGELOG", mode = EnumSource.Mode.EXCLUDE)
  void queries_whileTheTaskWorksAndEnds_areAnsweredOrRefused(Backends kind) throws Exception {
    CompletableFuture<Void> queries;
    AtomicLong answered = new AtomicLong();
    try (TestKeyedBackend<Integer> backend = open(kind)) {
      ValueState<Integer> value = value(backend);
      MapState<Integer, Integer> map = map(backend);
      queries =
          CompletableFuture.runAsync(
              () -> {
                try {
                  for (int i = 0; ; i++) {
                    byte @Nullable [] stored = query(value, i % KEYS);
                    assertThat(stored == null || stored.length == Integer.BYTES).isTrue();
                    byte @Nullable [] unused = query(map, i % KEYS);
                    answered.incrementAndGet();
                  }
                } catch (RuntimeException e) {
                  throw e;
                } catch (Exception e) {
                  throw new AssertionError(e);
                }
              });
      for (int i = 0; answered.get() < 1_000; i++) {
        backend.get().setCurrentKey(i % KEYS);
        value.update(i);
        map.put(i % 7, i);
      }
    }
    assertThatThrownBy(() -> queries.get(1, TimeUnit.MINUTES))
        .isInstanceOf(ExecutionException.class)
        .hasCauseInstanceOf(StateBackendException.class)
        .hasMessageContaining("closed");
  }
}
