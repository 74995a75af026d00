package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
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
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingType;
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
import org.apache.flink.runtime.state.filemerging.SegmentFileStateHandle;
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
    play(kind, null);
  }

  @ParameterizedTest
  @EnumSource(FileMergingType.class)
  void whatIsRestoredFromMergedFiles_isWhatTheCheckpointSaw(FileMergingType merging)
      throws Exception {
    Counts counts = play(Backends.ROCKSDB_CHANGELOG, merging);
    assertThat(counts.physicalFiles).isPositive().isLessThan(counts.logicalFiles);
    assertThat(counts.tablesReferredTo).isPositive();
  }

  private Counts play(Backends kind, @Nullable FileMergingType merging) throws Exception {
    Counts counts = new Counts();
    for (long seed = 0; seed < SEEDS; seed++) {
      try {
        new Run(kind, merging, seed, directory.resolve("seed-" + seed), counts).play();
      } catch (Throwable e) {
        throw new AssertionError("seed " + seed + ": " + e, e);
      }
    }
    assertThat(counts.restores).isGreaterThan(SEEDS);
    assertThat(counts.completions).isGreaterThan(3 * SEEDS);
    assertThat(counts.lateNews).isGreaterThan(SEEDS);
    return counts;
  }

  /** What happened in all runs. */
  private static final class Counts {
    private int restores;
    private int completions;
    private int lateNews;
    private int logicalFiles;
    private int physicalFiles;
    private int tablesReferredTo;

    /** Counts the segments of one checkpoint, the files that they are in, and files of tables. */
    void countFiles(List<KeyedStateHandle> handles) {
      List<StreamStateHandle> files =
          handles.stream()
              .flatMap(handle -> ((IncrementalRemoteKeyedStateHandle) handle).streamSubHandles())
              .toList();
      List<SegmentFileStateHandle> segments =
          files.stream()
              .filter(SegmentFileStateHandle.class::isInstance)
              .map(SegmentFileStateHandle.class::cast)
              .toList();
      logicalFiles += segments.size();
      physicalFiles +=
          (int) segments.stream().map(SegmentFileStateHandle::getFilePath).distinct().count();
      tablesReferredTo +=
          (int)
              files.stream()
                  .filter(PlaceholderStreamStateHandle.class::isInstance)
                  .filter(file -> !((PlaceholderStreamStateHandle) file).isFileMerged())
                  .count();
    }
  }

  /** A stream factory that fails when told to. */
  private static final class Streams implements CheckpointStreamFactory {
    private final CheckpointStreamFactory files;
    private final boolean failing;
    private int written;

    Streams(CheckpointStreamFactory files, boolean failing) {
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
    public boolean couldReuseStateHandle(StreamStateHandle handle) {
      return files.couldReuseStateHandle(handle);
    }

    @Override
    public void reusePreviousStateHandle(Collection<? extends StreamStateHandle> handles) {
      files.reusePreviousStateHandle(handles);
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
    private final long seed;
    private final Random random;
    private final Path directory;
    private final JobManagerModel jobManager = new JobManagerModel();
    private final Map<Integer, List<Integer>> now = new TreeMap<>();
    private final Map<Long, Map<Integer, List<Integer>>> seen = new HashMap<>();
    private final List<TestKeyedBackend<Integer>> subtasks = new ArrayList<>();
    private final @Nullable MergedFiles merged;
    private final Counts counts;
    private final Deque<News> late = new ArrayDeque<>();
    private long lastId;

    /** What the JobManager says of a completed checkpoint. */
    private record News(long completed, long subsumed) {}

    Run(Backends kind, @Nullable FileMergingType merging, long seed, Path directory, Counts counts)
        throws IOException {
      this.kind = kind;
      this.seed = seed;
      this.random = new Random(seed);
      this.directory = directory;
      this.counts = counts;
      Files.createDirectories(directory.resolve("shared"));
      Files.createDirectories(directory.resolve("own"));
      this.merged = merging == null ? null : new MergedFiles(directory, merging);
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
        if (merged != null) {
          merged.close();
        }
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
      // Materializations run beside all of this, whenever they like, or never: then the log grows.
      configuration.set(
          AlluviumOptions.MATERIALIZE_INTERVAL,
          seed % 3 == 2 ? Duration.ofHours(1) : Duration.ofMillis(15));
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
        if (merged != null) {
          merged.start(parallelism, jobManager.latestId(), own);
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
      List<RunnableFuture<SnapshotResult<KeyedStateHandle>>> futures = new ArrayList<>();
      int inlineBytes = random.nextBoolean() ? 0 : 1 << 20;
      for (int subtask = 0; subtask < subtasks.size(); subtask++) {
        futures.add(
            subtasks
                .get(subtask)
                .get()
                .snapshot(
                    id,
                    id,
                    new Streams(files(subtask, id, inlineBytes), failing),
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
      if (merged != null) {
        jobManager.mergedInto(id, merged.directories());
        counts.countFiles(handles);
      }
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

    private CheckpointStreamFactory files(int subtask, long id, int inlineBytes) {
      return merged != null
          ? merged.streams(subtask, id)
          : new FsCheckpointStreamFactory(
              LocalFileSystem.getSharedInstance(),
              flink(directory.resolve("own")),
              flink(directory.resolve("shared")),
              inlineBytes,
              4096);
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
      late.add(new News(id, jobManager.latestId()));
      jobManager.complete(id);
      counts.completions++;
      if (random.nextInt(3) == 0) {
        // The next checkpoint begins before the news of this one is here.
        counts.lateNews++;
        checkpoint();
      }
      tellCompleted();
    }

    private void tellCompleted() throws Exception {
      for (News news : late) {
        for (TestKeyedBackend<Integer> subtask : subtasks) {
          subtask.get().notifyCheckpointComplete(news.completed());
          if (random.nextInt(4) == 0) {
            subtask.get().notifyCheckpointComplete(news.completed());
          }
        }
        if (merged != null) {
          merged.completed(news.completed(), news.subsumed());
        }
      }
      late.clear();
    }

    private void tellAborted(long id) throws Exception {
      if (random.nextInt(3) != 0) {
        for (TestKeyedBackend<Integer> subtask : subtasks) {
          subtask.get().notifyCheckpointAborted(id);
        }
        if (merged != null) {
          merged.aborted(id);
        }
      }
    }

    private void restore() throws Exception {
      jobManager.fail();
      subtasks.forEach(TestKeyedBackend::close);
      subtasks.clear();
      int parallelism = 1 + random.nextInt(4);
      if (merged != null) {
        merged.stop(parallelism, random.nextBoolean());
      }
      List<KeyedStateHandle> handles = new ArrayList<>();
      for (KeyedStateHandle handle : jobManager.latest()) {
        assertThat(handle).isInstanceOf(IncrementalRemoteKeyedStateHandle.class);
        handles.add(handle);
      }
      open(parallelism, handles);
      counts.restores++;
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
