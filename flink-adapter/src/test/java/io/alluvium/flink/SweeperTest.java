package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.bytes.ByteBackend;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.ListOperands;
import io.alluvium.spi.TableScan;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.RunnableFuture;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What has expired is removed beside the task, by a clock and with mail that the test turns. */
final class SweeperTest {

  private static final Duration TTL = Duration.ofHours(4);
  private static final Duration INTERVAL = Duration.ofHours(1);
  private static final int GROUPS = 8;
  private static final int SEEDS = Boolean.getBoolean("alluvium.full") ? 200 : 2;
  private static final StateTtlConfig DEFAULT = StateTtlConfig.newBuilder(TTL).build();

  @TempDir private Path directory;

  /** A backend in a task of the test, and its states. */
  private static final class Subject implements AutoCloseable {
    private final TestKeyedBackend<Integer> backend;
    private @Nullable ByteBackend bytes;
    private final ValueStateDescriptor<String> value =
        new ValueStateDescriptor<>("value", String.class);
    private final ListStateDescriptor<String> list =
        new ListStateDescriptor<>("list", String.class);
    private final MapStateDescriptor<Integer, String> map =
        new MapStateDescriptor<>("map", Integer.class, String.class);
    private final ReducingStateDescriptor<Integer> sum =
        new ReducingStateDescriptor<>("sum", Integer::sum, Integer.class);

    Subject(Backends kind, ManualTask task, StateTtlConfig ttl, List<KeyedStateHandle> handles)
        throws Exception {
      MockEnvironment environment = new MockEnvironmentBuilder().build();
      environment.setMainMailboxExecutor(task);
      backend =
          TestKeyedBackend.open(
              kind.configuration(),
              environment,
              new TestKeyedBackend.Parameters<>(
                  IntSerializer.INSTANCE,
                  KeyGroupRange.of(0, GROUPS - 1),
                  GROUPS,
                  task::millis,
                  handles),
              new KeyedBackendBuilder.Between(this::seen, threads -> task));
      for (StateDescriptor<?, ?> each : List.of(value, list, map, sum)) {
        each.enableTimeToLive(ttl);
      }
      use(0);
    }

    private ByteBackend seen(ByteBackend below) {
      bytes = below;
      return below;
    }

    private <S extends State> S state(StateDescriptor<S, ?> descriptor) throws Exception {
      return backend
          .get()
          .getPartitionedState(
              VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }

    /** Also registers the states. */
    void use(int key) throws Exception {
      backend.get().setCurrentKey(key);
      value();
      list();
      map();
      sum();
    }

    ValueState<String> value() throws Exception {
      return state(value);
    }

    ListState<String> list() throws Exception {
      return state(list);
    }

    MapState<Integer, String> map() throws Exception {
      return state(map);
    }

    ReducingState<Integer> sum() throws Exception {
      return state(sum);
    }

    /** Four entries in four states. */
    void fill(int key) throws Exception {
      use(key);
      value().update("v" + key);
      list().add("l" + key);
      map().put(1, "m" + key);
      sum().add(key);
    }

    int entries() {
      return backend.get().numKeyValueStateEntries();
    }

    /** The table, with lists as their elements: their operands may be joined at any time. */
    Map<String, String> dump() throws Exception {
      byte[] lists = Rows.idBytes(KeyLayout.stateId("list"));
      Map<String, String> dump = new TreeMap<>();
      try (TableScan scan = Objects.requireNonNull(bytes).scan(new byte[0], 0)) {
        while (scan.next()) {
          byte[] stored = Arrays.copyOf(scan.value(), scan.valueLength());
          if (Arrays.equals(scan.key(), 2, 2 + lists.length, lists, 0, lists.length)) {
            DataOutputSerializer joined = new DataOutputSerializer(64);
            Lists.join(new ListOperands(), stored, stored.length, joined);
            stored = joined.getCopyOfBuffer();
          }
          dump.put(
              HexFormat.of().formatHex(scan.key(), 0, scan.keyLength()),
              HexFormat.of().formatHex(stored));
        }
      }
      return dump;
    }

    KeyedStateHandle checkpoint(long id, Path directory, JobManagerModel jobManager)
        throws Exception {
      Files.createDirectories(directory);
      org.apache.flink.core.fs.Path path = new org.apache.flink.core.fs.Path(directory.toUri());
      RunnableFuture<SnapshotResult<KeyedStateHandle>> future =
          backend
              .get()
              .snapshot(
                  id,
                  id,
                  new FsCheckpointStreamFactory(
                      LocalFileSystem.getSharedInstance(), path, path, 0, 4096),
                  CheckpointOptions.forCheckpointWithDefaultLocation());
      future.run();
      KeyedStateHandle handle = Objects.requireNonNull(future.get().getJobManagerOwnedSnapshot());
      jobManager.acknowledged(id, List.of(handle));
      jobManager.complete(id);
      backend.get().notifyCheckpointComplete(id);
      return handle;
    }

    @Override
    public void close() {
      backend.close();
    }
  }

  @ParameterizedTest
  @EnumSource(Backends.class)
  void whatExpired_isGoneWithinTwoIntervals_withoutAnAccess(Backends kind) throws Exception {
    ManualTask task = new ManualTask();
    try (Subject subject = new Subject(kind, task, DEFAULT, List.of())) {
      for (int key = 0; key < 500; key++) {
        subject.fill(key);
      }
      task.pass(Duration.ofHours(3));
      subject.use(7);
      subject.value().update("new");
      subject.list().add("new");
      subject.map().put(2, "new");
      subject.sum().add(1);
      assertThat(subject.entries()).isEqualTo(4 * 500 + 1);

      task.pass(Duration.ofMinutes(59));
      assertThat(subject.entries()).isEqualTo(4 * 500 + 1);
      task.pass(INTERVAL.multipliedBy(2));
      // Of the map one entry is left, and of the list one element.
      assertThat(subject.entries()).isEqualTo(4);
      subject.use(7);
      assertThat(subject.value().value()).isEqualTo("new");
      assertThat(subject.list().get()).containsExactly("new");
      assertThat(subject.map().keys()).containsExactly(2);
      assertThat(subject.sum().get()).isEqualTo(8);

      task.pass(TTL.plus(INTERVAL.multipliedBy(2)));
      assertThat(subject.entries()).isZero();
    }
  }

  @ParameterizedTest
  @EnumSource(Backends.class)
  void whatIsWrittenAfterItWasFound_stays(Backends kind) throws Exception {
    ManualTask task = new ManualTask();
    try (Subject subject = new Subject(kind, task, DEFAULT, List.of())) {
      for (int key = 0; key < 20; key++) {
        subject.fill(key);
      }
      task.sleep(TTL);
      // Each walk has found its keys when its mail is there.
      for (int steps = 0; steps < 200; steps++) {
        assertThat(task.step()).isTrue();
        if (task.hasMail()) {
          for (int key = 0; key < 20; key++) {
            subject.fill(key);
          }
        }
      }
      assertThat(subject.entries()).isEqualTo(80);
      for (int key = 0; key < 20; key++) {
        subject.use(key);
        assertThat(subject.value().value()).isEqualTo("v" + key);
        assertThat(subject.list().get()).contains("l" + key);
        assertThat(subject.map().get(1)).isEqualTo("m" + key);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Backends.class)
  void removal_ofMuch_takesTheTaskOnlyForAMoment(Backends kind) throws Exception {
    ManualTask task = new ManualTask();
    try (Subject subject = new Subject(kind, task, DEFAULT, List.of())) {
      for (int key = 0; key < 12_000; key++) {
        subject.use(key);
        subject.value().update("v");
      }
      task.sleep(TTL.plusMillis(1));
      int most = 0;
      int before = subject.entries();
      while (before > 0) {
        // One piece of mail, or less.
        assertThat(task.step()).isTrue();
        int now = subject.entries();
        most = Math.max(most, before - now);
        before = now;
      }
      // By a clock that takes 20 microseconds for each look.
      assertThat(most).isBetween(100, 250);
    }
  }

  @Test
  void cleanupThatIsNotWanted_isNotDone() throws Exception {
    ManualTask task = new ManualTask();
    StateTtlConfig off = StateTtlConfig.newBuilder(TTL).disableCleanupInBackground().build();
    try (Subject subject = new Subject(Backends.ROCKSDB_CHANGELOG, task, off, List.of())) {
      subject.fill(1);
      task.pass(TTL.multipliedBy(10));
      assertThat(subject.entries()).isEqualTo(4);
      assertThat(task.hasPlans()).isFalse();
    }
  }

  @Test
  void intervalOfTheCompactionFilter_isTheInterval() throws Exception {
    ManualTask task = new ManualTask();
    Duration interval = Duration.ofSeconds(20);
    StateTtlConfig often =
        StateTtlConfig.newBuilder(TTL).cleanupInRocksdbCompactFilter(1000, interval).build();
    try (Subject subject = new Subject(Backends.ROCKSDB_CHANGELOG, task, often, List.of())) {
      subject.fill(1);
      task.pass(TTL);
      task.pass(interval.multipliedBy(2));
      assertThat(subject.entries()).isZero();
    }
  }

  /** No thread for the walk, nor for the next timer. */
  @Test
  void refusedTimer_isReplacedAtACheckpoint() throws Exception {
    ManualTask task = new ManualTask();
    try (Subject subject = new Subject(Backends.ROCKSDB_CHANGELOG, task, DEFAULT, List.of())) {
      subject.fill(1);
      task.refuse(true);
      task.pass(TTL.plus(INTERVAL));
      assertThat(task.hasPlans()).isFalse();
      assertThat(subject.entries()).isEqualTo(4);
      task.refuse(false);
      KeyedStateHandle unused =
          subject.checkpoint(1, directory.resolve("checkpoint"), new JobManagerModel());
      task.pass(INTERVAL.multipliedBy(2));
      assertThat(subject.entries()).isZero();
    }
  }

  @Test
  void afterClose_nothingIsDone() throws Exception {
    ManualTask task = new ManualTask();
    Subject subject = new Subject(Backends.ROCKSDB_CHANGELOG, task, DEFAULT, List.of());
    subject.fill(1);
    task.sleep(TTL.plus(INTERVAL));
    while (!task.hasMail()) {
      task.step();
    }
    subject.close();
    for (int steps = 0; steps < 100; steps++) {
      task.step();
    }
    assertThat(task.hasPlans()).isFalse();
  }

  /**
   * Writes, reads, time, pieces of the clean-up and checkpoints in any order: nothing that lives is
   * lost, all that expired goes, and a checkpoint holds exactly what the table held.
   */
  @ParameterizedTest
  @EnumSource(Backends.class)
  void anyOrder_losesNothing_andCheckpointsAreExact(Backends kind) throws Exception {
    for (long seed = 0; seed < SEEDS; seed++) {
      for (StateTtlConfig.UpdateType type :
          List.of(
              StateTtlConfig.UpdateType.OnCreateAndWrite,
              StateTtlConfig.UpdateType.OnReadAndWrite)) {
        try {
          new Play(kind, type, seed).run(directory.resolve(kind + "-" + type + "-" + seed));
        } catch (Throwable e) {
          throw new AssertionError("seed " + seed + ", " + type + ": " + e, e);
        }
      }
    }
  }

  private static final class Play {
    private static final int KEYS = 30;
    private final Backends kind;
    private final StateTtlConfig ttl;
    private final boolean readsProlong;
    private final Random random;
    private final ManualTask task = new ManualTask();
    private final JobManagerModel jobManager = new JobManagerModel();

    /** By "kind key", with the time of the last write; of lists the elements in order. */
    private final Map<String, List<Map.Entry<String, Long>>> model = new TreeMap<>();

    Play(Backends kind, StateTtlConfig.UpdateType type, long seed) {
      this.kind = kind;
      this.readsProlong = type == StateTtlConfig.UpdateType.OnReadAndWrite;
      this.ttl = StateTtlConfig.newBuilder(TTL).setUpdateType(type).build();
      this.random = new Random(seed);
    }

    void run(Path directory) throws Exception {
      Subject subject = new Subject(kind, task, ttl, List.of());
      try {
        for (int step = 0; step < 400; step++) {
          int what = random.nextInt(100);
          if (what < 45) {
            write(subject, step);
          } else if (what < 60) {
            read(subject);
          } else if (what < 70) {
            task.sleep(Duration.ofMinutes(random.nextInt(40)));
          } else if (what < 97) {
            task.step();
          } else {
            Map<String, String> before = subject.dump();
            KeyedStateHandle handle = subject.checkpoint(step, directory, jobManager);
            task.pass(Duration.ofMinutes(random.nextInt(120)));
            subject.close();
            subject = new Subject(kind, task, ttl, List.of(handle));
            assertThat(subject.dump()).isEqualTo(before);
          }
        }
        for (int key = 0; key < KEYS; key++) {
          check(subject, key);
        }
        int before = living();
        task.pass(INTERVAL.multipliedBy(2));
        // What was expired before is gone; what expired meanwhile may be.
        assertThat(subject.entries()).isBetween(living(), before);
        task.pass(TTL.plus(INTERVAL.multipliedBy(2)));
        assertThat(subject.entries()).isZero();
      } finally {
        subject.close();
      }
    }

    private int living() {
      return (int)
          model.values().stream()
              .filter(entries -> entries.stream().anyMatch(entry -> lives(entry.getValue())))
              .count();
    }

    private boolean lives(long written) {
      return written + TTL.toMillis() > task.millis();
    }

    private void write(Subject subject, int step) throws Exception {
      int key = random.nextInt(KEYS);
      subject.use(key);
      Map.Entry<String, Long> now = Map.entry("s" + step, task.millis());
      switch (random.nextInt(4)) {
        case 0 -> {
          subject.value().update(now.getKey());
          model.put("value " + key, List.of(now));
        }
        case 1 -> {
          subject.list().add(now.getKey());
          List<Map.Entry<String, Long>> list =
              new ArrayList<>(model.getOrDefault("list " + key, List.of()));
          list.add(now);
          model.put("list " + key, list);
        }
        case 2 -> {
          int userKey = random.nextInt(3);
          subject.map().put(userKey, now.getKey());
          model.put("map " + key + " " + userKey, List.of(now));
        }
        default -> {
          subject.value().clear();
          model.remove("value " + key);
        }
      }
    }

    private void read(Subject subject) throws Exception {
      check(subject, random.nextInt(KEYS));
    }

    private void check(Subject subject, int key) throws Exception {
      subject.use(key);
      List<String> value = alive("value " + key);
      assertThat(subject.value().value()).isEqualTo(value.isEmpty() ? null : value.get(0));
      Iterable<String> list = subject.list().get();
      assertThat(list == null ? List.of() : list).containsExactlyElementsOf(alive("list " + key));
      for (int userKey = 0; userKey < 3; userKey++) {
        List<String> entry = alive("map " + key + " " + userKey);
        assertThat(subject.map().get(userKey)).isEqualTo(entry.isEmpty() ? null : entry.get(0));
      }
    }

    private List<String> alive(String name) {
      List<Map.Entry<String, Long>> entries = model.getOrDefault(name, List.of());
      List<Map.Entry<String, Long>> left =
          entries.stream().filter(entry -> lives(entry.getValue())).toList();
      if (readsProlong) {
        long now = task.millis();
        left = left.stream().map(entry -> Map.entry(entry.getKey(), now)).toList();
      }
      model.put(name, left);
      return left.stream().map(Map.Entry::getKey).toList();
    }
  }
}
