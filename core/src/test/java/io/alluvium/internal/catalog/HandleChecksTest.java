package io.alluvium.internal.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateKind;
import io.alluvium.StateRegistration;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.serializer.Serializers;
import java.util.List;
import org.junit.jupiter.api.Test;

final class HandleChecksTest {

  @Test
  void mixedFormats_ofSubtasksThatRegisterAStateDifferently_areFound() {
    SerializerSnapshot longs = Serializers.int64().snapshot();
    SerializerSnapshot texts = Serializers.string().snapshot();
    CheckpointHandle first = handle(0, state("count", longs), state("name", texts));
    CheckpointHandle second = handle(1, state("count", texts), state("name", texts));
    assertThat(HandleChecks.mixedFormats(List.of(first, second)))
        .containsOnlyKeys("count")
        .hasEntrySatisfying(
            "count", formats -> assertThat(formats).contains("int64 v1", "string v1"));
    assertThat(HandleChecks.mixedFormats(List.of(first, first))).isEmpty();
    assertThat(HandleChecks.mixedFormats(List.of(first))).isEmpty();
  }

  private static StateRegistration state(String name, SerializerSnapshot value) {
    return new StateRegistration(
        name, 1, StateKind.VALUE, Serializers.string().snapshot(), List.of(value));
  }

  private static CheckpointHandle handle(int from, StateRegistration... states) {
    return new CheckpointHandle(
        1,
        new KeyGroupRange(from, from + 1),
        2,
        0,
        List.of(),
        List.of(),
        Serializers.string().snapshot(),
        List.of(states));
  }
}
