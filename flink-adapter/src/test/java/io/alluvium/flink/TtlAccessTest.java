package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.bytes.ByteBackend;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.apache.flink.api.common.state.AppendingState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.ttl.MockTtlTimeProvider;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What an access of a state costs in accesses of the table, with and without a time to live. */
final class TtlAccessTest {

  private static final int KEYS = 40;
  private static final StateTtlConfig DEFAULT =
      StateTtlConfig.newBuilder(Duration.ofHours(1)).build();

  /** Calls of the table by the name of the method. */
  private final Map<String, Integer> calls = new TreeMap<>();

  private final MockTtlTimeProvider time = new MockTtlTimeProvider();

  private TestKeyedBackend<Integer> open(Backends kind) {
    return TestKeyedBackend.open(
        kind.configuration(),
        new MockEnvironmentBuilder().build(),
        new TestKeyedBackend.Parameters<>(
            IntSerializer.INSTANCE, KeyGroupRange.of(0, 63), 64, time, List.of()),
        new KeyedBackendBuilder.Between(this::counted, UnaryOperator.identity()));
  }

  private ByteBackend counted(ByteBackend bytes) {
    return (ByteBackend)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {ByteBackend.class},
            (proxy, method, arguments) -> {
              if (method.getReturnType() != void.class || method.getParameterCount() > 0) {
                calls.merge(method.getName(), 1, Integer::sum);
              }
              try {
                return method.invoke(bytes, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private static <S extends State> S state(
      TestKeyedBackend<Integer> backend, StateDescriptor<S, ?> descriptor) throws Exception {
    return backend
        .get()
        .getPartitionedState(VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
  }

  /** Uses every kind of state of some keys, and gives what the last key alone cost. */
  private Map<String, Integer> costOfOneKey(Backends kind, StateTtlConfig ttl) throws Exception {
    ValueStateDescriptor<Integer> value = new ValueStateDescriptor<>("value", Integer.class);
    ListStateDescriptor<Integer> list = new ListStateDescriptor<>("list", Integer.class);
    MapStateDescriptor<Integer, Integer> map =
        new MapStateDescriptor<>("map", Integer.class, Integer.class);
    ReducingStateDescriptor<Integer> sum =
        new ReducingStateDescriptor<>("sum", Integer::sum, Integer.class);
    for (StateDescriptor<?, ?> each : List.of(value, list, map, sum)) {
      if (ttl.isEnabled()) {
        each.enableTimeToLive(ttl);
      }
    }
    try (TestKeyedBackend<Integer> backend = open(kind)) {
      for (int key = 0; key < KEYS; key++) {
        backend.get().setCurrentKey(key);
        ValueState<Integer> values = state(backend, value);
        MapState<Integer, Integer> maps = state(backend, map);
        AppendingState<Integer, ?> lists = state(backend, list);
        AppendingState<Integer, ?> sums = state(backend, sum);
        calls.clear();
        values.update(values.value() == null ? 1 : 2);
        maps.put(1, maps.contains(1) ? 2 : 1);
        maps.put(2, 2);
        lists.add(key);
        lists.get();
        sums.add(key);
        sums.get();
      }
      return new TreeMap<>(calls);
    }
  }

  @ParameterizedTest
  @EnumSource(Backends.class)
  void accessWithTheDefaultTtl_costsTheTableWhatOneWithoutDoes(Backends kind) throws Exception {
    Map<String, Integer> without = costOfOneKey(kind, StateTtlConfig.DISABLED);
    assertThat(costOfOneKey(kind, DEFAULT)).isEqualTo(without);
    StateTtlConfig compacting =
        StateTtlConfig.newBuilder(Duration.ofHours(1)).cleanupInRocksdbCompactFilter(1000).build();
    assertThat(costOfOneKey(kind, compacting)).isEqualTo(without);
  }

  @ParameterizedTest
  @EnumSource(Backends.class)
  void accessWithIncrementalCleanup_looksAtOthers_evenWithFlinksDefaultNumber(Backends kind)
      throws Exception {
    StateTtlConfig asked =
        StateTtlConfig.newBuilder(Duration.ofHours(1)).cleanupIncrementally(5, false).build();
    assertThat(costOfOneKey(kind, asked).getOrDefault("get", 0))
        .isGreaterThan(costOfOneKey(kind, StateTtlConfig.DISABLED).getOrDefault("get", 0) + 10);
  }

  /** Flink hands a new map over for every one that it looks at. */
  @ParameterizedTest
  @EnumSource(Backends.class)
  void incrementalCleanupOfMaps_writesNothing_untilSomethingExpires_andThenOnlyThat(Backends kind)
      throws Exception {
    MapStateDescriptor<Integer, Integer> descriptor =
        new MapStateDescriptor<>("map", Integer.class, Integer.class);
    descriptor.enableTimeToLive(
        StateTtlConfig.newBuilder(Duration.ofMillis(100)).cleanupIncrementally(100, false).build());
    try (TestKeyedBackend<Integer> backend = open(kind)) {
      AbstractKeyedStateBackend<Integer> keyed = backend.get();
      time.time = 0;
      MapState<Integer, Integer> map = null;
      for (int key = 0; key < KEYS; key++) {
        keyed.setCurrentKey(key);
        map = state(backend, descriptor);
        for (int entry = 0; entry < 3; entry++) {
          time.time = entry * 40L;
          map.put(entry, entry);
        }
      }
      assertThat(map).isNotNull();
      calls.clear();
      map.get(0);
      assertThat(calls).containsKey("scan").doesNotContainKeys("put", "delete", "deleteRange");

      time.time = 120;
      calls.clear();
      map.get(2);
      assertThat(calls).containsEntry("delete", KEYS).doesNotContainKeys("put", "deleteRange");
      for (int key = 0; key < KEYS; key++) {
        keyed.setCurrentKey(key);
        assertThat(map.keys()).containsExactly(1, 2);
      }
    }
  }
}
