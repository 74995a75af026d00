package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class MapEntryTest {

  @ParameterizedTest
  @EnumSource(Backends.class)
  @SuppressWarnings("NullAway") // a map state may hold null
  void setValue_null_isTheValueFromThenOn(Backends kind) throws Exception {
    try (TestKeyedBackend<Integer> backend =
        TestKeyedBackend.open(
            kind.configuration(),
            new MockEnvironmentBuilder().build(),
            new TestKeyedBackend.Parameters<>(
                IntSerializer.INSTANCE,
                KeyGroupRange.of(0, 3),
                4,
                TtlTimeProvider.DEFAULT,
                List.of()))) {
      backend.get().setCurrentKey(1);
      MapState<Integer, Integer> state =
          backend
              .get()
              .getPartitionedState(
                  VoidNamespace.INSTANCE,
                  VoidNamespaceSerializer.INSTANCE,
                  new MapStateDescriptor<>("map", IntSerializer.INSTANCE, IntSerializer.INSTANCE));
      state.put(1, 10);
      for (Map.Entry<Integer, Integer> entry : state.entries()) {
        assertThat(entry.setValue(null)).isEqualTo(10);
        assertThat(entry.getValue()).isNull();
        assertThat(entry.setValue(11)).isNull();
        assertThat(entry.setValue(null)).isEqualTo(11);
      }
      assertThat(state.get(1)).isNull();
      assertThat(state.contains(1)).isTrue();
    }
  }
}
