package io.alluvium.suite;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * A program that stores some large values, restores them from the log and from table files, and
 * compares. {@link LargeValuesTest} runs it in JVMs with little memory. Confined to one thread.
 */
final class LargeValues {

  private static final KeyGroupRange ALL = new KeyGroupRange(0, 16);

  private final Map<String, String> settings;
  private final int values;
  private final int valueBytes;

  private LargeValues(Map<String, String> settings, int values, int valueBytes) {
    this.settings = settings;
    this.values = values;
    this.valueBytes = valueBytes;
  }

  /** Takes {@code DIRECTORY TABLE CHANGELOG_ENABLED VALUES VALUE_BYTES}. */
  public static void main(String[] args) {
    Path directory = Path.of(args[0]);
    new LargeValues(
            Map.of(
                "state.checkpoints.dir",
                directory.resolve("checkpoints").toUri().toString(),
                "state.backend.rocksdb.localdir",
                directory.resolve("local").toString(),
                "state.backend.type",
                args[1],
                "state.backend.changelog.enabled",
                args[2],
                "state.backend.changelog.periodic-materialize.interval",
                "0"),
            Integer.parseInt(args[3]),
            Integer.parseInt(args[4]))
        .run();
  }

  private void run() {
    try (StateBackend backend = StateBackend.open(settings)) {
      backend.catalog().takeOver("large");
      KeyedBackend<Long> keyed = backend.keyed(Serializers.int64(), ALL.size(), ALL);
      ValueState<byte[]> state = keyed.state(StateDescriptor.value("v", Serializers.bytes()));
      for (long key = 0; key < values; key++) {
        keyed.setCurrentKey(key);
        state.update(value(key));
      }
      CheckpointHandle handle = keyed.checkpoint(0).join();
      backend.catalog().commit(handle.checkpointId(), List.of(handle), new byte[0]);
    }
    System.out.println("stored");
    try (StateBackend backend = StateBackend.open(settings)) {
      Checkpoint last = backend.catalog().takeOver("large").orElseThrow();
      KeyedBackend<Long> keyed =
          backend.keyed(
              Serializers.int64(),
              ALL.size(),
              ALL,
              last.handles(),
              backend.catalog().restoreMode());
      ValueState<byte[]> state = keyed.state(StateDescriptor.value("v", Serializers.bytes()));
      for (long key = 0; key < values; key++) {
        keyed.setCurrentKey(key);
        if (!Arrays.equals(state.value(), value(key))) {
          throw new AssertionError("another value of key " + key);
        }
      }
    }
    System.out.println("restored");
  }

  private byte[] value(long key) {
    byte[] value = new byte[valueBytes];
    Arrays.fill(value, (byte) key);
    value[(int) key] = 99;
    return value;
  }
}
