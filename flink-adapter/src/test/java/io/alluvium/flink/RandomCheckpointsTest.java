package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RunnableFuture;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.PlaceholderStreamStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory;
import org.apache.flink.runtime.state.storage.FileSystemCheckpointStorage;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random checkpoints against a JobManager that really deletes what it may: several at once,
 * completed, aborted, with news of that lost or repeated, with streams that fail, restored in other
 * parallelisms. What is restored must be exactly what the checkpoint saw.
 */
final class RandomCheckpointsTest {

  private static final int GROUPS = 8;
  private static final int KEYS = 40;
  private static final int STEPS = 120;
  private static final int SEEDS = Boolean.getBoolean("alluvium.full") ? 300 : 6;

  private static final ListStateDescriptor<Integer> STATE =
      new ListStateDescriptor<>("list", IntSerializer.INSTANCE);

  @TempDir private Path directory;

  @ParameterizedTest
  @EnumSource(Backends.class)
  void whatIsRestored_isWhatTheCheckpointSaw(Backends kind) throws Exception {
    int restores = 0;
    int completions = 0;
    for (long seed = 0; seed < SEEDS; seed++) {
      Run run = new Run(kind, seed, directory.resolve("seed-" + seed));
      try {
        run.play();
      } catch (Throwable e) {
        throw new AssertionError("seed " + seed + ": " + e, e);
      }
      restores += run.restores;
      completions += run.completions;
    }
    assertThat(restores).isGreaterThan(SEEDS);
    assertThat(completions).isGreaterThan(3 * SEEDS);
  }

  /** A stream factory that fails when told to. */
  private static final class Streams implements CheckpointStreamFactory {
    private final FsCheckpointStreamFactory files;
    private final boolean failing;
    private int written;

    Streams(FsCheckpointStreamFactory files, boolean failing) {
      this.files = files;
      this.failing = failing;
    }

    @Override
    public CheckpointStateOutputStream createCheckpointStateOutputStream(
        CheckpointedStateScope scope) throws IOException {
      if (failing && written++ > 0) {
        throw new IOException("storage is away, on purpose");
      }
      return files.createCheckpointStateOutputStream(scope);
    }

    @Override
    public boolean canFastDuplicate(StreamStateHandle handle, CheckpointedStateScope scope) {
      return false;
    }

    @Override
    public List<StreamStateHandle> duplicate(
        List<StreamStateHandle> handles, CheckpointedStateScope scope) {
      throw new UnsupportedOperationException();
    }
  }

  private static final class Run {
    private final Backends kind;
    private final Random random;
    private final Path directory;
    private final JobManagerModel jobManager = new JobManagerModel();
    private final Map<Integer, List<Integer>> now = new TreeMap<>();
    private final Map<Long, Map<Integer, List<Integer>>> seen = new HashMap<>();
    private final List<TestKeyedBackend<Integer>> subtasks = new ArrayList<>();
    private long lastId;
    private int restores;
    private int completions;

    Run(Backends kind, long seed, Path directory) throws IOException {
      this.kind = kind;
      this.random = new Random(seed);
      this.directory = directory;
      Files.createDirectories(directory.resolve("shared"));
      Files.createDirectories(directory.resolve("own"));
    }

    void play() throws Exception {
      open(2, List.of());
      try {
        for (int step = 0; step < STEPS; step++) {
          step();
        }
        restore();
        check(now);
      } finally {
        subtasks.forEach(TestKeyedBackend::close);
      }
    }

    private void step() throws Exception {
      switch (random.nextInt(12)) {
        case 0, 1, 2, 3, 4 -> write();
        case 5, 6, 7 -> checkpoint();
        case 8, 9 -> complete();
        case 10 -> {
          if (!jobManager.pending().isEmpty()) {
            long id = jobManager.pending().firstKey();
            jobManager.abort(id);
            tellAborted(id);
          }
        }
        default -> {
          if (random.nextInt(3) == 0) {
            restore();
          }
        }
      }
    }

    private Configuration configuration() {
      Configuration configuration = kind.configuration();
      // Materializations run beside all of this, whenever they like.
      configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofMillis(15));
      return configuration;
    }

    private MockEnvironment environment() throws IOException {
      MockEnvironment environment = new MockEnvironmentBuilder().build();
      environment.setCheckpointStorageAccess(
          new FileSystemCheckpointStorage(directory.toUri(), 0)
              .createCheckpointStorage(new JobID()));
      return environment;
    }

    private void open(int parallelism, List<KeyedStateHandle> handles) throws IOException {
      for (int i = 0; i < parallelism; i++) {
        KeyGroupRange range =
            KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex(GROUPS, parallelism, i);
        List<KeyedStateHandle> own = new ArrayList<>();
        for (KeyedStateHandle handle : handles) {
          KeyedStateHandle part = handle.getIntersection(range);
          if (part != null) {
            own.add(part);
          }
        }
        subtasks.add(
            TestKeyedBackend.open(
                configuration(),
                environment(),
                new TestKeyedBackend.Parameters<>(
                    IntSerializer.INSTANCE, range, GROUPS, TtlTimeProvider.DEFAULT, own)));
      }
    }

    private ListState<Integer> at(int key) throws Exception {
      int group = KeyGroupRangeAssignment.assignToKeyGroup(key, GROUPS);
      for (TestKeyedBackend<Integer> subtask : subtasks) {
        AbstractKeyedStateBackend<Integer> backend = subtask.get();
        if (backend.getKeyGroupRange().contains(group)) {
          backend.setCurrentKey(key);
          return backend.getPartitionedState(
              VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, STATE);
        }
      }
      throw new AssertionError("nobody has key group " + group);
    }

    private void write() throws Exception {
      for (int i = random.nextInt(30); i > 0; i--) {
        int key = random.nextInt(KEYS);
        if (random.nextInt(6) == 0) {
          at(key).clear();
          now.remove(key);
        } else {
          int value = random.nextInt();
          at(key).add(value);
          now.computeIfAbsent(key, unused -> new ArrayList<>()).add(value);
        }
      }
    }

    private void checkpoint() throws Exception {
      if (jobManager.pending().size() > 2) {
        return;
      }
      long id = ++lastId;
      boolean full = random.nextInt(12) == 0;
      boolean failing = random.nextInt(8) == 0;
      FsCheckpointStreamFactory files =
          new FsCheckpointStreamFactory(
              LocalFileSystem.getSharedInstance(),
              flink(directory.resolve("own")),
              flink(directory.resolve("shared")),
              random.nextBoolean() ? 0 : 1 << 20,
              4096);
      List<RunnableFuture<SnapshotResult<KeyedStateHandle>>> futures = new ArrayList<>();
      for (TestKeyedBackend<Integer> subtask : subtasks) {
        futures.add(
            subtask
                .get()
                .snapshot(
                    id,
                    id,
                    new Streams(files, failing),
                    CheckpointOptions.forConfig(
                        full ? CheckpointType.FULL_CHECKPOINT : CheckpointType.CHECKPOINT,
                        CheckpointStorageLocationReference.getDefault(),
                        true,
                        false,
                        0)));
      }
      List<KeyedStateHandle> handles = new ArrayList<>();
      boolean failed = false;
      for (RunnableFuture<SnapshotResult<KeyedStateHandle>> future : futures) {
        future.run();
        try {
          KeyedStateHandle handle = future.get().getJobManagerOwnedSnapshot();
          if (handle != null) {
            handles.add(handle);
          }
        } catch (ExecutionException e) {
          assertThat(e).hasStackTraceContaining("on purpose");
          failed = true;
        }
      }
      jobManager.acknowledged(id, handles);
      if (failed) {
        jobManager.abort(id);
        tellAborted(id);
        return;
      }
      if (full) {
        assertThat(handles)
            .allSatisfy(
                handle ->
                    assertThat(((IncrementalKeyedStateHandle) handle).getSharedStateHandles())
                        .noneMatch(
                            file -> file.getHandle() instanceof PlaceholderStreamStateHandle));
      }
      seen.put(id, copy(now));
    }

    private static org.apache.flink.core.fs.Path flink(Path path) {
      return new org.apache.flink.core.fs.Path(path.toUri());
    }

    private void complete() throws Exception {
      if (jobManager.pending().isEmpty()) {
        return;
      }
      List<Long> ids = new ArrayList<>(jobManager.pending().keySet());
      long id = ids.get(random.nextInt(ids.size()));
      jobManager.complete(id);
      completions++;
      for (TestKeyedBackend<Integer> subtask : subtasks) {
        subtask.get().notifyCheckpointComplete(id);
        if (random.nextInt(4) == 0) {
          subtask.get().notifyCheckpointComplete(id);
        }
      }
    }

    private void tellAborted(long id) throws Exception {
      if (random.nextInt(3) != 0) {
        for (TestKeyedBackend<Integer> subtask : subtasks) {
          subtask.get().notifyCheckpointAborted(id);
        }
      }
    }

    private void restore() throws Exception {
      jobManager.fail();
      subtasks.forEach(TestKeyedBackend::close);
      subtasks.clear();
      List<KeyedStateHandle> handles = new ArrayList<>();
      for (KeyedStateHandle handle : jobManager.latest()) {
        assertThat(handle).isInstanceOf(IncrementalRemoteKeyedStateHandle.class);
        handles.add(handle);
      }
      open(1 + random.nextInt(4), handles);
      restores++;
      now.clear();
      now.putAll(copy(seen.getOrDefault(jobManager.latestId(), Map.of())));
      check(now);
    }

    private void check(Map<Integer, List<Integer>> expected) throws Exception {
      for (int key = 0; key < KEYS; key++) {
        @Nullable Iterable<Integer> stored = at(key).get();
        List<Integer> list = new ArrayList<>();
        if (stored != null) {
          stored.forEach(list::add);
        }
        assertThat(list).as("key " + key).isEqualTo(expected.getOrDefault(key, List.of()));
      }
    }

    private static Map<Integer, List<Integer>> copy(Map<Integer, List<Integer>> state) {
      Map<Integer, List<Integer>> copy = new TreeMap<>();
      state.forEach((key, list) -> copy.put(key, new ArrayList<>(list)));
      return copy;
    }
  }
}
