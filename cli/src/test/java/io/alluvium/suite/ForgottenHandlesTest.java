package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A job that goes on without what it left behind is told so before that is retired. */
final class ForgottenHandlesTest {

  private static final int KEY_GROUPS = 8;
  private static final KeyGroupRange ALL = new KeyGroupRange(0, KEY_GROUPS);

  @TempDir private Path directory;

  private StateBackend open(String... settings) {
    Map<String, String> all = new java.util.HashMap<>();
    all.put("state.backend.type", "heap");
    all.put("state.checkpoints.dir", directory.toUri().toString());
    for (int i = 0; i < settings.length; i += 2) {
      all.put(settings[i], settings[i + 1]);
    }
    return StateBackend.open(all);
  }

  private static ValueState<Long> value(KeyedBackend<String> keyed) {
    return keyed.state(StateDescriptor.value("v", Serializers.int64()));
  }

  /** One checkpoint that holds 7 under "k". */
  private void earlier() {
    try (StateBackend backend = open()) {
      assertThat(backend.catalog().takeOver("job")).isEmpty();
      KeyedBackend<String> keyed = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
      keyed.setCurrentKey("k");
      value(keyed).update(7L);
      commit(backend, 1, List.of(keyed));
    }
  }

  private static void commit(StateBackend backend, long id, List<KeyedBackend<String>> subtasks) {
    List<CheckpointHandle> handles = new ArrayList<>();
    subtasks.forEach(subtask -> handles.add(subtask.checkpoint(id).join()));
    var unused = backend.catalog().commit(id, handles, new byte[0]);
    subtasks.forEach(subtask -> subtask.confirm(id));
  }

  /** What the newest checkpoint holds under "k". */
  private @Nullable Long stored() {
    try (StateBackend backend = open()) {
      Checkpoint last = backend.catalog().takeOver("job").orElseThrow();
      KeyedBackend<String> keyed =
          backend.keyed(Serializers.string(), KEY_GROUPS, ALL, last.handles(), RestoreMode.REUSE);
      keyed.setCurrentKey("k");
      return value(keyed).value();
    }
  }

  /** With the changelog off each checkpoint is a whole table, which says nothing of its past. */
  @ParameterizedTest
  @ValueSource(strings = {"true", "false"})
  void commit_nobodyRestoredWhatTakeOverFound_isInvalidAndNamesTheRemedies(String changelog) {
    earlier();
    try (StateBackend backend = open("state.backend.changelog.enabled", changelog)) {
      assertThat(backend.catalog().takeOver("job")).isPresent();
      KeyedBackend<String> keyed = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
      keyed.setCurrentKey("other");
      value(keyed).update(1L);
      assertThatThrownBy(() -> commit(backend, 2, List.of(keyed)))
          .isInstanceOfSatisfying(
              StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
          .hasMessageContaining("checkpoint 1 of job 'job' holds state")
          .hasMessageContaining("handles")
          .hasMessageContaining("startOver");
    }
    assertThat(stored()).isEqualTo(7);
  }

  @Test
  void commit_oneSubtaskOfTwoWasForgotten_isInvalid() {
    earlier();
    try (StateBackend backend = open()) {
      Checkpoint last = backend.catalog().takeOver("job").orElseThrow();
      KeyedBackend<String> restored =
          backend.keyed(
              Serializers.string(),
              KEY_GROUPS,
              new KeyGroupRange(0, 4),
              last.handles(),
              RestoreMode.REUSE);
      KeyedBackend<String> forgotten =
          backend.keyed(Serializers.string(), KEY_GROUPS, new KeyGroupRange(4, 8));
      assertThatThrownBy(() -> commit(backend, 2, List.of(restored, forgotten)))
          .hasMessageContaining("[4, 8) was made without its handles");
      // The mistake is mended without a restart.
      forgotten.close();
      KeyedBackend<String> again =
          backend.keyed(
              Serializers.string(),
              KEY_GROUPS,
              new KeyGroupRange(4, 8),
              last.handles(),
              RestoreMode.REUSE);
      commit(backend, 3, List.of(restored, again));
    }
    assertThat(stored()).isEqualTo(7);
  }

  @Test
  void commit_afterOwnCheckpoints_madeAnewWithoutHandles_isInvalid() {
    try (StateBackend backend = open()) {
      assertThat(backend.catalog().takeOver("job")).isEmpty();
      KeyedBackend<String> keyed = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
      keyed.setCurrentKey("k");
      value(keyed).update(7L);
      commit(backend, 1, List.of(keyed));
      keyed.close();
      KeyedBackend<String> anew = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
      assertThatThrownBy(() -> commit(backend, 2, List.of(anew)))
          .hasMessageContaining("was made without its handles");
    }
    assertThat(stored()).isEqualTo(7);
  }

  @Test
  void commit_afterStartOver_isAccepted() {
    earlier();
    try (StateBackend backend = open()) {
      backend.catalog().startOver("job");
      KeyedBackend<String> keyed = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
      commit(backend, 2, List.of(keyed));
    }
    assertThat(stored()).isNull();
  }

  @Test
  void commit_detachedRestore_isAccepted() {
    earlier();
    try (StateBackend backend = open()) {
      Checkpoint last = backend.catalog().takeOver("job").orElseThrow();
      KeyedBackend<String> keyed =
          backend.keyed(
              Serializers.string(), KEY_GROUPS, ALL, last.handles(), RestoreMode.DETACHED);
      commit(backend, 2, List.of(keyed));
    }
    assertThat(stored()).isEqualTo(7);
  }

  /** There is nothing to restore: no handles, or none that holds anything. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void commit_whatTakeOverFoundHoldsNothing_isAccepted(boolean handles) {
    try (StateBackend backend = open()) {
      assertThat(backend.catalog().takeOver("job")).isEmpty();
      commit(
          backend,
          1,
          handles ? List.of(backend.keyed(Serializers.string(), KEY_GROUPS, ALL)) : List.of());
    }
    try (StateBackend backend = open()) {
      assertThat(backend.catalog().takeOver("job")).isPresent();
      KeyedBackend<String> keyed = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
      keyed.setCurrentKey("k");
      value(keyed).update(1L);
      commit(backend, 2, List.of(keyed));
    }
    assertThat(stored()).isEqualTo(1);
  }

  @Test
  void commit_withoutHandlesOverState_isInvalid() {
    earlier();
    try (StateBackend backend = open()) {
      assertThat(backend.catalog().takeOver("job")).isPresent();
      assertThatThrownBy(() -> backend.catalog().commit(2, List.of(), new byte[0]))
          .isInstanceOfSatisfying(
              StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
          .hasMessageContainingAll("checkpoint 1", "handle of every subtask", "startOver");
    }
    assertThat(stored()).isEqualTo(7);
    try (StateBackend backend = open()) {
      backend.catalog().startOver("job");
      var unused = backend.catalog().commit(2, List.of(), new byte[0]);
    }
    assertThat(stored()).isNull();
  }

  @Test
  void setCurrentKey_afterClose_isClosed() {
    KeyedBackend<String> keyed;
    try (StateBackend backend = open()) {
      assertThat(backend.catalog().takeOver("job")).isEmpty();
      keyed = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
      keyed.setCurrentKey("k");
    }
    assertThatThrownBy(() -> keyed.setCurrentKey("l"))
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.CLOSED));
  }

  /** A coordinator commits what others made; it has no backend and knows nothing of theirs. */
  @Test
  void commit_handlesMadeElsewhere_isAccepted() {
    earlier();
    try (StateBackend backend = open()) {
      Checkpoint last = backend.catalog().takeOver("job").orElseThrow();
      CheckpointHandle old = last.handles().get(0);
      CheckpointHandle elsewhere =
          new CheckpointHandle(
              2, ALL, KEY_GROUPS, 0, List.of(), List.of(), old.key(), old.states());
      var unused = backend.catalog().commit(2, List.of(elsewhere), new byte[0]);
    }
    assertThat(stored()).isNull();
  }
}
