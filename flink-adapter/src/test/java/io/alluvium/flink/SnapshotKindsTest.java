package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.checkpoint.SnapshotType;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.LocalSnapshotDirectoryProviderImpl;
import org.apache.flink.runtime.state.PlaceholderStreamStateHandle;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.TestTaskStateManager;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.FileUtils;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Checkpoints, native savepoints and local copies: where their files are and who needs them. */
final class SnapshotKindsTest {

  private static final KeyGroupRange GROUPS = KeyGroupRange.of(0, 3);
  private static final int KEYS = 20;
  private static final ValueStateDescriptor<Integer> STATE =
      new ValueStateDescriptor<>("value", IntSerializer.INSTANCE);

  @TempDir private Path directory;

  private TestKeyedBackend<Integer> open(
      Backends kind, MockEnvironment environment, List<KeyedStateHandle> handles) {
    return TestKeyedBackend.open(
        kind.configuration(),
        environment,
        new TestKeyedBackend.Parameters<>(
            IntSerializer.INSTANCE, GROUPS, 4, TtlTimeProvider.DEFAULT, handles));
  }

  private TestKeyedBackend<Integer> open(Backends kind, List<KeyedStateHandle> handles) {
    return open(kind, new MockEnvironmentBuilder().build(), handles);
  }

  private static ValueState<Integer> state(TestKeyedBackend<Integer> backend, int key)
      throws Exception {
    backend.get().setCurrentKey(key);
    return backend
        .get()
        .getPartitionedState(VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, STATE);
  }

  private static void fill(TestKeyedBackend<Integer> backend, int value) throws Exception {
    for (int key = 0; key < KEYS; key++) {
      state(backend, key).update(value + key);
    }
  }

  private static void check(TestKeyedBackend<Integer> backend, int value) throws Exception {
    for (int key = 0; key < KEYS; key++) {
      assertThat(state(backend, key).value()).isEqualTo(value + key);
    }
  }

  private SnapshotResult<KeyedStateHandle> snapshot(
      TestKeyedBackend<Integer> backend, long id, SnapshotType type, String place)
      throws Exception {
    return snapshot(backend, id, type, place, 0);
  }

  private SnapshotResult<KeyedStateHandle> snapshot(
      TestKeyedBackend<Integer> backend, long id, SnapshotType type, String place, int inlineBytes)
      throws Exception {
    return snapshot(
        backend, id, type, Files.createDirectories(directory.resolve(place)), inlineBytes);
  }

  private SnapshotResult<KeyedStateHandle> snapshot(
      TestKeyedBackend<Integer> backend,
      long id,
      SnapshotType type,
      Path exclusive,
      int inlineBytes)
      throws Exception {
    Path shared = Files.createDirectories(directory.resolve("shared"));
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
                CheckpointOptions.forConfig(
                    type, CheckpointStorageLocationReference.getDefault(), true, false, 0));
    future.run();
    return future.get();
  }

  /**
   * Every stream of a checkpoint hangs, until it is released, and another checkpoint is asked for
   * meanwhile, by the same task or by another one of the process.
   */
  @ParameterizedTest
  @EnumSource(Backends.class)
  void checkpoint_whileAnotherHangs_completes(Backends kind) throws Exception {
    try (TestKeyedBackend<Integer> hanging = open(kind, List.of());
        TestKeyedBackend<Integer> other = open(kind, List.of())) {
      fill(hanging, 1);
      fill(other, 2);
      Shelf shelf = new Shelf(Collections.nCopies(100, Shelf.Fate.STUCK));
      List<RunnableFuture<SnapshotResult<KeyedStateHandle>>> hung = new ArrayList<>();
      for (int id = 1; id <= 3; id++) {
        hung.add(snapshot(hanging, id, shelf));
        new Thread(hung.get(hung.size() - 1)).start();
      }
      awaitQuiet(shelf);
      RunnableFuture<SnapshotResult<KeyedStateHandle>> free =
          snapshot(other, 1, new Shelf(List.of()));
      new Thread(free).start();
      assertThat(free.get(30, TimeUnit.SECONDS).getJobManagerOwnedSnapshot()).isNotNull();
      shelf.release();
      for (RunnableFuture<SnapshotResult<KeyedStateHandle>> each : hung) {
        assertThat(each.get(30, TimeUnit.SECONDS).getJobManagerOwnedSnapshot()).isNotNull();
      }
    }
  }

  private static RunnableFuture<SnapshotResult<KeyedStateHandle>> snapshot(
      TestKeyedBackend<Integer> backend, long id, Shelf shelf) throws Exception {
    return backend
        .get()
        .snapshot(
            id,
            id,
            new CheckpointStreamFactory() {
              @Override
              public CheckpointStateOutputStream createCheckpointStateOutputStream(
                  CheckpointedStateScope scope) throws IOException {
                return shelf.open();
              }

              @Override
              public boolean canFastDuplicate(
                  StreamStateHandle handle, CheckpointedStateScope scope) {
                return false;
              }

              @Override
              public List<StreamStateHandle> duplicate(
                  List<StreamStateHandle> handles, CheckpointedStateScope scope) {
                throw new UnsupportedOperationException();
              }
            },
            CheckpointOptions.forCheckpointWithDefaultLocation());
  }

  /** Until no stream has been opened for a while. */
  private static void awaitQuiet(Shelf shelf) throws InterruptedException {
    int before = 0;
    while (before == 0 || shelf.opened() > before) {
      before = shelf.opened();
      Thread.sleep(100);
    }
  }

  private static IncrementalRemoteKeyedStateHandle remote(SnapshotResult<KeyedStateHandle> result) {
    KeyedStateHandle handle = result.getJobManagerOwnedSnapshot();
    assertThat(handle).isInstanceOf(IncrementalRemoteKeyedStateHandle.class);
    return (IncrementalRemoteKeyedStateHandle) handle;
  }

  /** The log is stored, and what describes it is not. */
  @ParameterizedTest
  @EnumSource(Backends.class)
  void checkpoint_thatCannotBeDescribed_leavesNoFiles(Backends kind) throws Exception {
    Path shared = Files.createDirectories(directory.resolve("shared"));
    Path noDirectory = Files.createFile(directory.resolve("file"));
    IncrementalRemoteKeyedStateHandle checkpoint;
    try (TestKeyedBackend<Integer> backend = open(kind, List.of())) {
      fill(backend, 100);
      assertThatThrownBy(() -> snapshot(backend, 1, CheckpointType.CHECKPOINT, noDirectory, 0))
          .hasStackTraceContaining("cannot store 'the description of a checkpoint'");
      // They are deleted in the background.
      Eventually.that(() -> files(shared) == 0);
      checkpoint = remote(snapshot(backend, 2, CheckpointType.CHECKPOINT, "checkpoint"));
      assertThat(files(shared)).isPositive();
    }
    try (TestKeyedBackend<Integer> backend = open(kind, List.of(checkpoint))) {
      check(backend, 100);
    }
  }

  private static long files(Path place) throws IOException {
    return StoredFiles.below(place).size();
  }

  @ParameterizedTest
  @EnumSource(Backends.class)
  void nativeSavepoint_standsAlone_andNothingStandsOnIt(Backends kind) throws Exception {
    SnapshotType type = SavepointType.savepoint(SavepointFormatType.NATIVE);
    IncrementalRemoteKeyedStateHandle savepoint;
    try (TestKeyedBackend<Integer> backend = open(kind, List.of())) {
      fill(backend, 100);
      long before = files(Files.createDirectories(directory.resolve("shared")));
      savepoint = remote(snapshot(backend, 1, type, "savepoint"));
      assertThat(savepoint.getSharedStateHandles()).isEmpty();
      assertThat(savepoint.getPrivateState()).isNotEmpty();
      assertThat(files(directory.resolve("shared"))).isEqualTo(before);
    }
    IncrementalRemoteKeyedStateHandle checkpoint;
    try (TestKeyedBackend<Integer> backend = open(kind, List.of(savepoint))) {
      check(backend, 100);
      fill(backend, 200);
      checkpoint = remote(snapshot(backend, 2, CheckpointType.CHECKPOINT, "chk-2"));
    }
    FileUtils.deleteDirectory(directory.resolve("savepoint").toFile());
    try (TestKeyedBackend<Integer> backend = open(kind, List.of(checkpoint))) {
      check(backend, 200);
    }
  }

  @ParameterizedTest
  @EnumSource(Backends.class)
  void checkpoint_storesAtMostOneLogFile_andRefersToTheRest(Backends kind) throws Exception {
    SharedStateRegistryImpl registry = new SharedStateRegistryImpl();
    try (TestKeyedBackend<Integer> backend = open(kind, List.of())) {
      fill(backend, 100);
      remote(snapshot(backend, 1, CheckpointType.CHECKPOINT, "chk-1"))
          .registerSharedStates(registry, 1);
      backend.get().notifyCheckpointComplete(1);
      state(backend, 3).update(1);
      IncrementalRemoteKeyedStateHandle second =
          remote(snapshot(backend, 2, CheckpointType.CHECKPOINT, "chk-2"));
      assertThat(second.getSharedStateHandles())
          .filteredOn(file -> file.getLocalPath().endsWith(".log"))
          .filteredOn(file -> !(file.getHandle() instanceof PlaceholderStreamStateHandle))
          .hasSizeLessThanOrEqualTo(1);
      if (kind != Backends.ROCKSDB_INCREMENTAL) {
        assertThat(second.getSharedStateHandles())
            .hasSize(2)
            .filteredOn(file -> file.getHandle() instanceof PlaceholderStreamStateHandle)
            .hasSize(1);
      }
      second.registerSharedStates(registry, 2);
      backend.get().notifyCheckpointComplete(2);
    }
  }

  @ParameterizedTest
  @EnumSource(value = Backends.class, names = "ROCKSDB_INCREMENTAL", mode = EnumSource.Mode.EXCLUDE)
  void smallLogs_standInTheMetadata_butNotManyOfThem(Backends kind) throws Exception {
    SharedStateRegistryImpl registry = new SharedStateRegistryImpl();
    IncrementalRemoteKeyedStateHandle last = null;
    int inline = 1200;
    try (TestKeyedBackend<Integer> backend = open(kind, List.of())) {
      for (int id = 1; id <= 50; id++) {
        fill(backend, id);
        last = remote(snapshot(backend, id, CheckpointType.CHECKPOINT, "chk-" + id, inline));
        last.registerSharedStates(registry, id);
        backend.get().notifyCheckpointComplete(id);
        registry.unregisterUnusedState(id);
        assertThat(last.getSharedStateHandles())
            .filteredOn(file -> file.getHandle() instanceof ByteStreamStateHandle)
            .hasSizeLessThanOrEqualTo(16);
      }
    }
    assertThat(files(directory.resolve("shared"))).isBetween(1L, 4L);
    try (TestKeyedBackend<Integer> backend = open(kind, List.of(Objects.requireNonNull(last)))) {
      check(backend, 50);
    }
  }

  /** As after scaling in, when one subtask had not seen a record yet. */
  @ParameterizedTest
  @EnumSource(Backends.class)
  void subtaskWithoutState_leavesNoGap(Backends kind) throws Exception {
    IncrementalRemoteKeyedStateHandle handle;
    try (TestKeyedBackend<Integer> backend =
        TestKeyedBackend.open(
            kind.configuration(),
            new MockEnvironmentBuilder().build(),
            new TestKeyedBackend.Parameters<>(
                IntSerializer.INSTANCE,
                KeyGroupRange.of(2, 3),
                4,
                TtlTimeProvider.DEFAULT,
                List.of()))) {
      for (int key = 0; key < KEYS; key++) {
        if (KeyGroupRangeAssignment.assignToKeyGroup(key, 4) >= 2) {
          state(backend, key).update(100 + key);
        }
      }
      handle = remote(snapshot(backend, 1, CheckpointType.CHECKPOINT, "chk-1"));
    }
    try (TestKeyedBackend<Integer> backend = open(kind, List.of(handle))) {
      for (int key = 0; key < KEYS; key++) {
        boolean stored = KeyGroupRangeAssignment.assignToKeyGroup(key, 4) >= 2;
        assertThat(state(backend, key).value()).isEqualTo(stored ? 100 + key : null);
        state(backend, key).update(500 + key);
      }
      check(backend, 500);
    }
  }

  @ParameterizedTest
  @EnumSource(Backends.class)
  void localCopy_isEnough_andLosingItIsNoHarm(Backends kind) throws Exception {
    KeyedStateHandle local;
    IncrementalRemoteKeyedStateHandle remote;
    try (TestKeyedBackend<Integer> backend = open(kind, withLocalRecovery(), List.of())) {
      fill(backend, 100);
      SnapshotResult<KeyedStateHandle> result =
          snapshot(backend, 1, CheckpointType.CHECKPOINT, "chk-1");
      remote = remote(result);
      remote.registerSharedStates(new SharedStateRegistryImpl(), 1);
      @Nullable KeyedStateHandle copy = result.getTaskLocalSnapshot();
      assertThat(copy).isInstanceOf(IncrementalLocalKeyedStateHandle.class);
      local = Objects.requireNonNull(copy);
      backend.get().notifyCheckpointComplete(1);
    }
    Path shared = directory.resolve("shared");
    Path hidden = directory.resolve("hidden");
    Files.move(shared, hidden);
    try (TestKeyedBackend<Integer> backend = open(kind, withLocalRecovery(), List.of(local))) {
      check(backend, 100);
    }
    Files.move(hidden, shared);
    local.discardState();
    try (TestKeyedBackend<Integer> backend = open(kind, withLocalRecovery(), List.of(remote))) {
      check(backend, 100);
    }
  }

  /** As after a deployment, or when another machine has taken over. */
  @ParameterizedTest
  @EnumSource(Backends.class)
  void localCopy_afterARemoteRestore_isEnoughForTheTable(Backends kind) throws Exception {
    IncrementalRemoteKeyedStateHandle remote;
    try (TestKeyedBackend<Integer> backend = open(kind, withLocalRecovery(), List.of())) {
      remote = remote(snapshotWithTable(backend));
      remote.registerSharedStates(new SharedStateRegistryImpl(), 1);
    }
    KeyedStateHandle local;
    long tableFiles;
    try (TestKeyedBackend<Integer> backend = open(kind, withLocalRecovery(), List.of(remote))) {
      check(backend, 100);
      assertThat(backend.counter("restore.linked.files")).isZero();
      state(backend, 0).update(200);
      SnapshotResult<KeyedStateHandle> next =
          snapshot(backend, 9, CheckpointType.CHECKPOINT, "chk-9");
      local = Objects.requireNonNull(next.getTaskLocalSnapshot());
      tableFiles =
          remote(next).getSharedStateHandles().stream()
              .map(file -> BlobName.tryParse(file.getLocalPath()).orElseThrow())
              .filter(name -> name.kind() == BlobName.Kind.TABLE)
              .count();
      backend.get().notifyCheckpointComplete(9);
    }
    try (TestKeyedBackend<Integer> backend = open(kind, withLocalRecovery(), List.of(local))) {
      assertThat(state(backend, 0).value()).isEqualTo(200);
      assertThat(state(backend, 1).value()).isEqualTo(101);
      assertThat(backend.counter("restore.linked.files")).isPositive();
      // All of them: what the first restore downloaded, this one finds here.
      assertThat(backend.counter("restore.linked.files")).isEqualTo(tableFiles);
    }
  }

  /** A first checkpoint that stores the table, and of the log nothing. */
  private SnapshotResult<KeyedStateHandle> snapshotWithTable(TestKeyedBackend<Integer> backend)
      throws Exception {
    fill(backend, 100);
    SnapshotResult<KeyedStateHandle> result =
        snapshot(backend, 1, CheckpointType.FULL_CHECKPOINT, "chk-1");
    backend.get().notifyCheckpointComplete(1);
    return result;
  }

  /** Every local file in turn, with a byte that has changed. */
  @ParameterizedTest
  @EnumSource(Backends.class)
  void localCopy_thatIsDamaged_isNeverBelieved(Backends kind) throws Exception {
    SnapshotResult<KeyedStateHandle> result;
    IncrementalRemoteKeyedStateHandle remote;
    try (TestKeyedBackend<Integer> backend = open(kind, withLocalRecovery(), List.of())) {
      SnapshotResult<KeyedStateHandle> first = snapshotWithTable(backend);
      remote(first).registerSharedStates(new SharedStateRegistryImpl(), 1);
      state(backend, 0).update(200);
      result = snapshot(backend, 2, CheckpointType.CHECKPOINT, "chk-2");
      remote = remote(result);
      backend.get().notifyCheckpointComplete(2);
    }
    IncrementalLocalKeyedStateHandle local =
        (IncrementalLocalKeyedStateHandle) Objects.requireNonNull(result.getTaskLocalSnapshot());
    Path copies = local.getDirectoryStateHandle().getDirectory();
    int restoredAllTheSame = 0;
    int refused = 0;
    for (Path copy : StoredFiles.below(copies)) {
      byte[] right = Files.readAllBytes(copy);
      byte[] wrong = right.clone();
      wrong[wrong.length / 2] ^= 1;
      Files.write(copy, wrong);
      try (TestKeyedBackend<Integer> backend =
          open(kind, withLocalRecovery(), List.<KeyedStateHandle>of(local))) {
        assertThat(state(backend, 0).value()).isEqualTo(200);
        assertThat(state(backend, 1).value()).isEqualTo(101);
        restoredAllTheSame++;
      } catch (AssertionError e) {
        // Flink goes on with the remote files then.
        assertThat(e).as(copy.toString()).hasRootCauseInstanceOf(StateBackendException.class);
        refused++;
      }
      Files.write(copy, right);
    }
    assertThat(restoredAllTheSame).isPositive();
    assertThat(refused).isLessThanOrEqualTo(2);
    assertThat(remote.getSharedStateHandles()).isNotEmpty();
  }

  @Test
  void checkpointOfAnotherBackend_isRefused_withTheRemedy() {
    IncrementalRemoteKeyedStateHandle foreign =
        new IncrementalRemoteKeyedStateHandle(
            new UUID(1, 2),
            GROUPS,
            1,
            List.of(),
            List.of(),
            new ByteStreamStateHandle("meta", new byte[] {0, 0, 0, 6, 1, 2, 3}));
    assertThatThrownBy(() -> open(Backends.HEAP_CHANGELOG, List.of(foreign)))
        .hasStackTraceContaining("take a savepoint in the canonical format");
  }

  private MockEnvironment withLocalRecovery() throws IOException {
    Path root = Files.createDirectories(directory.resolve("local"));
    return new MockEnvironmentBuilder()
        .setTaskStateManager(
            TestTaskStateManager.builder()
                .setLocalRecoveryConfig(
                    LocalRecoveryConfig.backupAndRecoveryEnabled(
                        new LocalSnapshotDirectoryProviderImpl(
                            root.toFile(), new JobID(), new JobVertexID(), 0)))
                .build())
        .build();
  }
}
