package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.ListState;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import io.alluvium.testkit.MemoryDirectories;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.blob.FilesFlipper;
import io.alluvium.testkit.blob.MapBlobStore;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every byte of a small checkpoint, damaged in turn: verification finds it and names the blob. */
final class FlippedBytesTest {

  private static final int GROUPS = 4;

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  private final MapBlobStore store = new MapBlobStore();

  @ParameterizedTest
  @ValueSource(strings = {"heap", "rocksdb"})
  void verify_anyByteFlipped_namesTheBlob(String type) {
    // Table files of a checkpoint without changelog, then blocks of one with it.
    runJob(Map.of("state.backend.type", type, "state.backend.changelog.enabled", "false"), 1);
    runJob(Map.of("state.backend.type", type), 2);
    try (StateBackend outside = open(Map.of("state.backend.type", type))) {
      FilesFlipper flipper =
          new FilesFlipper(
              store, () -> outside.inspector().verify(2, (name, size) -> {}).problems());
      assertThat(outside.inspector().verify(2, (name, size) -> {}).problems()).isEmpty();
      assertThat(store.content().keySet())
          .anyMatch(name -> name.endsWith(".log"))
          .anyMatch(name -> name.endsWith(".table"));

      flipper.flipEveryByte(name -> true, Seeds.full() ? 8 : 1);
      flipper.truncateEveryBlob(name -> true);

      assertThat(flipper.missed()).isEmpty();
      assertThat(flipper.tried()).isGreaterThan(500);
      assertThat(outside.inspector().verify(2, (name, size) -> {}).problems()).isEmpty();
    }
  }

  private StateBackend open(Map<String, String> settings) {
    Map<String, String> all = new HashMap<>(settings);
    all.put("state.checkpoints.dir", "memory:");
    all.put("state.backend.changelog.periodic-materialize.interval", "0");
    all.put("state.backend.rocksdb.localdir", directory.toString());
    all.put("dstl.dfs.compression.enabled", "true");
    return StateBackend.open(all, Components.defaults().withStore(store));
  }

  /** Restores what there is, changes something, takes a checkpoint and ends cleanly. */
  private void runJob(Map<String, String> settings, long checkpointId) {
    try (StateBackend backend = open(settings)) {
      Optional<Checkpoint> before = backend.catalog().takeOver("job");
      KeyedBackend<String> keyed =
          backend.keyed(
              Serializers.string(),
              GROUPS,
              new KeyGroupRange(0, GROUPS),
              before.map(Checkpoint::handles).orElse(List.of()),
              backend.catalog().restoreMode());
      ValueState<Long> count = keyed.state(StateDescriptor.value("count", Serializers.int64()));
      ListState<String> words = keyed.state(StateDescriptor.list("words", Serializers.string()));
      for (int i = 0; i < 6; i++) {
        keyed.setCurrentKey("key " + i);
        count.update(checkpointId * i);
        words.add("word " + checkpointId);
      }
      CheckpointHandle handle = keyed.checkpoint(checkpointId).join();
      backend.catalog().commit(checkpointId, List.of(handle), new byte[] {1, 2, 3});
      keyed.confirm(checkpointId);
      keyed.close();
      backend.catalog().collectGarbage();
    }
  }
}
