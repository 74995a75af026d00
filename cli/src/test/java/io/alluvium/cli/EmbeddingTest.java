package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The library as a user embeds it: owned, written, checkpointed, closed, opened again. */
class EmbeddingTest {

  private static final int MAX_PARALLELISM = 16;

  @TempDir Path directory;

  @ParameterizedTest
  @CsvSource({
    "rocksdb, true, 20ms",
    "rocksdb, true, 0",
    "rocksdb, false, 0",
    "heap, true, 20ms",
    "heap, false, 0"
  })
  void restart_afterCheckpoints_givesTheStateOfTheLastOne(
      String table, String changelog, String interval) {
    Map<String, String> settings =
        Map.of(
            "state.checkpoints.dir", directory.resolve("checkpoints").toUri().toString(),
            "state.backend.rocksdb.localdir", directory.resolve("local").toString(),
            "state.backend.type", table,
            "state.backend.changelog.enabled", changelog,
            "state.backend.changelog.periodic-materialize.interval", interval);
    Map<String, Long> model = new HashMap<>();
    SplittableRandom random = new SplittableRandom(7);
    long checkpointId = 0;
    for (int life = 0; life < 4; life++) {
      try (StateBackend backend = StateBackend.open(settings)) {
        Optional<Checkpoint> last = backend.catalog().takeOver("counts");
        List<CheckpointHandle> handles = last.map(Checkpoint::handles).orElse(List.of());
        try (KeyedBackend<String> keyed =
            backend.keyed(
                Serializers.string(),
                MAX_PARALLELISM,
                new KeyGroupRange(0, MAX_PARALLELISM),
                handles,
                RestoreMode.REUSE)) {
          ValueState<Long> count = keyed.state(StateDescriptor.value("count", Serializers.int64()));
          assertThat(contents(keyed, count)).isEqualTo(model);
          for (int round = 0; round < 10; round++) {
            for (int i = 0; i < 1000; i++) {
              String key = "k" + random.nextInt(2000);
              keyed.setCurrentKey(key);
              Long before = count.value();
              count.update(before == null ? 1 : before + 1);
              model.merge(key, 1L, Long::sum);
            }
            CheckpointHandle handle = keyed.checkpoint(++checkpointId).join();
            backend.catalog().commit(checkpointId, List.of(handle), new byte[] {(byte) round});
            keyed.confirm(checkpointId);
          }
          Map<String, Long> lost = new HashMap<>(model);
          keyed.setCurrentKey("never acknowledged");
          count.update(1L);
          assertThat(lost).isEqualTo(model);
        }
      }
    }
  }

  /** As on a thread of a pool that belongs to somebody else. */
  @Test
  void open_threadWhoseClassLoaderKnowsNothing_findsAllModules() {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(ClassLoader.getPlatformClassLoader());
    try (StateBackend backend =
        StateBackend.open(
            Map.of(
                "state.checkpoints.dir", directory.toString(),
                "state.backend.rocksdb.localdir", directory.resolve("local").toString(),
                "state.backend.type", "rocksdb"))) {
      assertThat(backend.catalog().takeOver("job")).isEmpty();
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  private static Map<String, Long> contents(KeyedBackend<String> keyed, ValueState<Long> count) {
    Map<String, Long> contents = new HashMap<>();
    try (var keys = keyed.keys(count)) {
      keys.forEach(
          key -> {
            keyed.setCurrentKey(key);
            contents.put(key, count.value());
          });
    }
    return contents;
  }
}
