package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.storage.FileSystemCheckpointStorage;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A job whose checkpoints are rare, or that has none, goes on materializing. */
final class NoCheckpointsTest {

  private static final ValueStateDescriptor<Integer> STATE =
      new ValueStateDescriptor<>("value", IntSerializer.INSTANCE);

  /** The files of the newest materialization, and of one that is under way or being deleted. */
  private static final int FEW_FILES = 8;

  @TempDir private Path directory;

  private Set<Path> stored() throws IOException {
    return StoredFiles.below(directory).stream()
        .filter(file -> file.toString().contains("/taskowned/"))
        .collect(Collectors.toSet());
  }

  @ParameterizedTest
  @EnumSource(value = Backends.class, names = "ROCKSDB_INCREMENTAL", mode = EnumSource.Mode.EXCLUDE)
  void materializations_withoutCheckpoints_leaveNothingBehind(Backends kind) throws Exception {
    Configuration configuration = kind.configuration();
    configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofMillis(10));
    MockEnvironment environment = new MockEnvironmentBuilder().build();
    environment.setCheckpointStorageAccess(
        new FileSystemCheckpointStorage(directory.toUri(), 0).createCheckpointStorage(new JobID()));
    try (TestKeyedBackend<Integer> backend =
        TestKeyedBackend.open(
            configuration,
            environment,
            new TestKeyedBackend.Parameters<>(
                IntSerializer.INSTANCE,
                KeyGroupRange.of(0, 3),
                4,
                TtlTimeProvider.DEFAULT,
                List.of()))) {
      long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
      Set<Path> seen = new HashSet<>();
      for (int value = 0; seen.size() <= 5 * FEW_FILES; value++) {
        assertThat(System.nanoTime()).as("deadline").isLessThan(deadline);
        for (int key = 0; key < 20; key++) {
          backend.get().setCurrentKey(key);
          ValueState<Integer> state =
              backend
                  .get()
                  .getPartitionedState(
                      VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, STATE);
          state.update(value);
        }
        Thread.sleep(2);
        seen.addAll(stored());
      }
      Eventually.that(() -> stored().size() <= FEW_FILES);
    }
  }
}
