package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RunnableFuture;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Subtasks that were one keep parts of one log. What each makes of them, joining small parts to one
 * file, must not be mixed up when they become one again.
 */
final class RescaledLogsTest {

  private static final int GROUPS = 8;
  private static final int KEYS = 40;
  private static final ValueStateDescriptor<Integer> STATE =
      new ValueStateDescriptor<>("value", IntSerializer.INSTANCE);

  @TempDir private Path directory;

  private final JobManagerModel jobManager = new JobManagerModel();
  private final List<TestKeyedBackend<Integer>> subtasks = new ArrayList<>();
  private final int[] expected = new int[KEYS];
  private long lastId;

  @AfterEach
  void close() {
    subtasks.forEach(TestKeyedBackend::close);
  }

  private void restore(Backends kind, int parallelism) {
    subtasks.forEach(TestKeyedBackend::close);
    subtasks.clear();
    Configuration configuration = kind.configuration();
    // So that the log is never cut short.
    configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofHours(1));
    for (int i = 0; i < parallelism; i++) {
      KeyGroupRange range =
          KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex(GROUPS, parallelism, i);
      List<KeyedStateHandle> own = new ArrayList<>();
      for (KeyedStateHandle handle : latest()) {
        KeyedStateHandle part = handle.getIntersection(range);
        if (part != null) {
          own.add(part);
        }
      }
      subtasks.add(
          TestKeyedBackend.open(
              configuration,
              new MockEnvironmentBuilder().build(),
              new TestKeyedBackend.Parameters<>(
                  IntSerializer.INSTANCE, range, GROUPS, TtlTimeProvider.DEFAULT, own)));
    }
  }

  private List<KeyedStateHandle> latest() {
    try {
      return jobManager.latest();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private ValueState<Integer> at(int key) throws Exception {
    int group = KeyGroupRangeAssignment.assignToKeyGroup(key, GROUPS);
    for (TestKeyedBackend<Integer> subtask : subtasks) {
      if (subtask.get().getKeyGroupRange().contains(group)) {
        subtask.get().setCurrentKey(key);
        return subtask
            .get()
            .getPartitionedState(VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, STATE);
      }
    }
    throw new AssertionError("nobody has key group " + group);
  }

  private void writeAll() throws Exception {
    for (int key = 0; key < KEYS; key++) {
      at(key).update(++expected[key]);
    }
  }

  private void check() throws Exception {
    for (int key = 0; key < KEYS; key++) {
      assertThat(at(key).value()).as("key %s", key).isEqualTo(expected[key]);
    }
  }

  private void checkpoint() throws Exception {
    long id = ++lastId;
    Path own = Files.createDirectories(directory.resolve("own"));
    Path shared = Files.createDirectories(directory.resolve("shared"));
    List<KeyedStateHandle> handles = new ArrayList<>();
    for (TestKeyedBackend<Integer> subtask : subtasks) {
      RunnableFuture<SnapshotResult<KeyedStateHandle>> future =
          subtask
              .get()
              .snapshot(
                  id,
                  id,
                  new FsCheckpointStreamFactory(
                      LocalFileSystem.getSharedInstance(),
                      new org.apache.flink.core.fs.Path(own.toUri()),
                      new org.apache.flink.core.fs.Path(shared.toUri()),
                      1200,
                      4096),
                  CheckpointOptions.forConfig(
                      CheckpointType.CHECKPOINT,
                      CheckpointStorageLocationReference.getDefault(),
                      true,
                      false,
                      0));
      future.run();
      handles.add(future.get().getJobManagerOwnedSnapshot());
    }
    jobManager.acknowledged(id, handles);
    jobManager.complete(id);
    for (TestKeyedBackend<Integer> subtask : subtasks) {
      subtask.get().notifyCheckpointComplete(id);
    }
  }

  private void work(int checkpoints) throws Exception {
    for (int i = 0; i < checkpoints; i++) {
      writeAll();
      checkpoint();
    }
  }

  @ParameterizedTest
  @EnumSource(Backends.class)
  void splitAndJoined_eachHasAFileThatBeginsWithTheSamePart(Backends kind) throws Exception {
    restore(kind, 1);
    work(6);
    restore(kind, 2);
    work(17);
    restore(kind, 1);
    work(2);
    restore(kind, 2);
    check();
    work(1);
    restore(kind, 1);
    check();
  }
}
