package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.RunnableFuture;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory;
import org.apache.flink.runtime.state.storage.FileSystemCheckpointStorage;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How many bytes checkpoints since the last materialization add to what the JobManager keeps. */
final class MetadataSizeTest {

  private static final ValueStateDescriptor<Integer> STATE =
      new ValueStateDescriptor<>("value", IntSerializer.INSTANCE);
  private static final String COMPLETED = "materialization.completed.count";
  private static final int FEW = 100;
  private static final int MANY = 300;

  /** Of one subtask, for each checkpoint since the last materialization. */
  private static final int MOST_BYTES_PER_CHECKPOINT = 300;

  @TempDir private Path directory;

  /**
   * What one subtask brings.
   *
   * @param metadataBytes its part of Flink's {@code _metadata}
   * @param metaBytes the file that describes its checkpoint
   */
  private record Size(long metadataBytes, long metaBytes, int handles) {}

  @ParameterizedTest
  @CsvSource({"0, 10", "20480, 10"})
  void metadata_growsBySlightlyMoreThanANameForEachCheckpoint(int inlineBytes, int keys)
      throws Exception {
    SharedStateRegistryImpl registry = new SharedStateRegistryImpl();
    Size few = new Size(0, 0, 0);
    Size many = few;
    try (TestKeyedBackend<Integer> backend =
        TestKeyedBackend.open(
            Backends.HEAP_CHANGELOG, IntSerializer.INSTANCE, KeyGroupRange.of(0, 3))) {
      for (int id = 1; id <= MANY; id++) {
        for (int key = 0; key < keys; key++) {
          update(backend, key, id);
        }
        IncrementalRemoteKeyedStateHandle handle = completed(backend, registry, id, inlineBytes);
        few = id == FEW ? size(handle) : few;
        many = id == MANY ? size(handle) : many;
      }
    }
    System.out.printf(
        "inline up to %d bytes: after %d checkpoints %s, after %d %s%n",
        inlineBytes, FEW, few, MANY, many);
    long most = (long) MOST_BYTES_PER_CHECKPOINT * (MANY - FEW);
    assertThat(many.metaBytes - few.metaBytes).isLessThan(most);
    // With small pieces inline, joined ones of up to 20 KB and a few more come on top.
    assertThat(many.metadataBytes - few.metadataBytes).isLessThan(most + 2L * inlineBytes);
  }

  /**
   * 500 subtasks with a checkpoint every millisecond, and Flink's and Alluvium's defaults for the
   * rest.
   */
  @Test
  void metadata_overAThousandCheckpoints_staysBounded() throws Exception {
    int subtasks = 500;
    Configuration configuration = Backends.ROCKSDB_CHANGELOG.configuration();
    configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(1));
    MockEnvironment environment =
        new MockEnvironmentBuilder()
            .setParallelism(subtasks)
            .setMaxParallelism(1024)
            .setSubtaskIndex(0)
            .build();
    environment.setCheckpointStorageAccess(
        new FileSystemCheckpointStorage(directory.toUri(), 0).createCheckpointStorage(new JobID()));
    int pieces = AlluviumOptions.MAX_PIECES.defaultValue() / subtasks;
    SharedStateRegistryImpl registry = new SharedStateRegistryImpl();
    Size most = new Size(0, 0, 0);
    try (TestKeyedBackend<Integer> backend =
        TestKeyedBackend.open(
            configuration,
            environment,
            new TestKeyedBackend.Parameters<>(
                IntSerializer.INSTANCE,
                KeyGroupRange.of(0, 1),
                1024,
                TtlTimeProvider.DEFAULT,
                List.of()))) {
      int key = keyWithin(KeyGroupRange.of(0, 1), 1024);
      for (int id = 1; id <= 1000; id++) {
        update(backend, key, id);
        IncrementalRemoteKeyedStateHandle handle = completed(backend, registry, id, 0);
        if (handle.getSharedStateHandles().size() > most.handles) {
          most = size(handle);
        }
        if (id % (pieces / 2) == 0) {
          // As much time as so many checkpoints take: one materialization begins and ends in it.
          long before = backend.counter(COMPLETED);
          int last = id;
          Eventually.that(
              () -> {
                update(backend, key, -last);
                return backend.counter(COMPLETED) >= before + 2;
              });
        }
      }
    }
    System.out.printf("over 1000 checkpoints of %d subtasks at most %s%n", subtasks, most);
    // Those since the one before the last, and the files of the table.
    assertThat(most.handles).isLessThan(pieces + 20);
    assertThat(most.metadataBytes).isLessThan((pieces + 20) * 300L);
  }

  /** Pieces just below Flink's threshold, each of which would stand in every checkpoint. */
  @Test
  void metadata_ofLargePiecesInline_staysBounded() throws Exception {
    int inlineBytes = 20 << 10;
    ValueStateDescriptor<byte[]> state =
        new ValueStateDescriptor<>("bytes", BytePrimitiveArraySerializer.INSTANCE);
    Random random = new Random(1);
    SharedStateRegistryImpl registry = new SharedStateRegistryImpl();
    long most = 0;
    try (TestKeyedBackend<Integer> backend =
        TestKeyedBackend.open(
            Backends.HEAP_CHANGELOG, IntSerializer.INSTANCE, KeyGroupRange.of(0, 3))) {
      for (int id = 1; id <= 50; id++) {
        byte[] value = new byte[15 << 10];
        random.nextBytes(value);
        backend.get().setCurrentKey(1);
        backend
            .get()
            .getPartitionedState(VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, state)
            .update(value);
        Size size = size(completed(backend, registry, id, inlineBytes));
        most = Math.max(most, size.metadataBytes);
      }
    }
    System.out.printf("with pieces of 15 KB inline at most %d bytes of a subtask%n", most);
    assertThat(most).isLessThan(4L * inlineBytes);
  }

  private static int keyWithin(KeyGroupRange range, int keyGroups) {
    int key = 0;
    while (!range.contains(KeyGroupRangeAssignment.assignToKeyGroup(key, keyGroups))) {
      key++;
    }
    return key;
  }

  private static void update(TestKeyedBackend<Integer> backend, int key, int value)
      throws Exception {
    backend.get().setCurrentKey(key);
    backend
        .get()
        .getPartitionedState(VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, STATE)
        .update(value);
  }

  private IncrementalRemoteKeyedStateHandle completed(
      TestKeyedBackend<Integer> backend, SharedStateRegistryImpl registry, long id, int inlineBytes)
      throws Exception {
    IncrementalRemoteKeyedStateHandle handle = checkpoint(backend, id, inlineBytes);
    handle.registerSharedStates(registry, id);
    backend.get().notifyCheckpointComplete(id);
    registry.unregisterUnusedState(id);
    return handle;
  }

  private IncrementalRemoteKeyedStateHandle checkpoint(
      TestKeyedBackend<Integer> backend, long id, int inlineBytes) throws Exception {
    Path shared = Files.createDirectories(directory.resolve("shared"));
    Path exclusive = Files.createDirectories(directory.resolve("chk"));
    RunnableFuture<SnapshotResult<KeyedStateHandle>> future =
        backend
            .get()
            .snapshot(
                id,
                id,
                new FsCheckpointStreamFactory(
                    LocalFileSystem.getSharedInstance(),
                    new org.apache.flink.core.fs.Path(exclusive.toUri()),
                    new org.apache.flink.core.fs.Path(shared.toUri()),
                    inlineBytes,
                    4096),
                CheckpointOptions.forCheckpointWithDefaultLocation());
    future.run();
    return (IncrementalRemoteKeyedStateHandle)
        Objects.requireNonNull(future.get().getJobManagerOwnedSnapshot());
  }

  private static Size size(IncrementalRemoteKeyedStateHandle handle) throws IOException {
    long of200 = metadataBytes(handle, 200);
    long of500 = metadataBytes(handle, 500);
    long each = of200 / 200;
    // It adds up, so that a subtask's part is known.
    assertThat(of500 / 500).isBetween(each - 5, each + 5);
    return new Size(
        each,
        handle.getMetaDataStateHandle().getStateSize(),
        handle.getSharedStateHandles().size());
  }

  /** As the JobManager writes it, for as many subtasks like this one. */
  private static long metadataBytes(IncrementalRemoteKeyedStateHandle handle, int parallelism)
      throws IOException {
    OperatorState operator =
        new OperatorState("operator", "uid", new OperatorID(1, 2), parallelism, 1024);
    for (int subtask = 0; subtask < parallelism; subtask++) {
      operator.putState(
          subtask, OperatorSubtaskState.builder().setManagedKeyedState(handle).build());
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Checkpoints.storeCheckpointMetadata(
        new CheckpointMetadata(1, List.of(operator), List.of()), out);
    return out.size();
  }
}
