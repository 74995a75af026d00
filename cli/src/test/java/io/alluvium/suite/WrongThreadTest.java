package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.bytes.ByteBackend;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.AggregateFunction;
import io.alluvium.state.AggregatingState;
import io.alluvium.state.ListState;
import io.alluvium.state.MapState;
import io.alluvium.state.Namespaced;
import io.alluvium.state.ReducingState;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.Timer;
import io.alluvium.state.TimerQueue;
import io.alluvium.state.ValueState;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A backend that a second thread uses says so, before anything that it tore is committed. */
final class WrongThreadTest {

  private static final int KEY_GROUPS = 8;
  private static final KeyGroupRange ALL = new KeyGroupRange(0, KEY_GROUPS);

  @TempDir private Path directory;

  private final ExecutorService task =
      Executors.newSingleThreadExecutor(r -> new Thread(r, "task"));
  private final ExecutorService timer =
      Executors.newSingleThreadExecutor(r -> new Thread(r, "timer"));

  @AfterEach
  void stop() {
    task.shutdownNow();
    timer.shutdownNow();
  }

  private StateBackend open(String table) {
    return StateBackend.open(
        Map.of(
            "state.backend.type", table,
            "state.checkpoints.dir", directory.resolve("checkpoints").toUri().toString(),
            "state.backend.rocksdb.localdir", directory.resolve("local").toString()));
  }

  private static <T> T on(ExecutorService thread, Supplier<T> call) {
    try {
      return CompletableFuture.supplyAsync(call, thread).join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof StateBackendException known ? known : e;
    }
  }

  private static void run(ExecutorService thread, Runnable call) {
    Object unused =
        on(
            thread,
            () -> {
              call.run();
              return "";
            });
  }

  private void refused(String call, Runnable wrong) {
    assertThatThrownBy(() -> run(timer, wrong))
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
        .hasMessageStartingWith(call)
        .hasMessageContaining("was called by thread 'timer'")
        .hasMessageContaining("belongs to thread 'task'")
        .hasMessageContaining("two threads")
        .hasMessageContaining("queue")
        .hasMessageContaining("handOver");
  }

  @ParameterizedTest
  @ValueSource(strings = {"rocksdb", "heap"})
  void anyCall_onAnotherThreadThanTheTask_isInvalidAndChangesNothing(String table) {
    try (StateBackend backend = open(table)) {
      assertThat(backend.catalog().takeOver("job")).isEmpty();
      // Made and registered by one thread, used by another.
      KeyedBackend<String> keyed = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
      ValueState<Long> value = keyed.state(StateDescriptor.value("v", Serializers.int64()));
      run(
          task,
          () -> {
            keyed.setCurrentKey("k");
            value.update(1L);
          });
      refused("setCurrentKey", () -> keyed.setCurrentKey("other"));
      refused("checkpoint", () -> keyed.checkpoint(1).join());
      refused("state", () -> keyed.state(StateDescriptor.value("w", Serializers.int64())));
      refused("timers", () -> keyed.timers("t", Serializers.int64()));
      refused("keys", () -> keyed.keys(value).close());
      refused("keyGroupOf", () -> keyed.keyGroupOf("k"));
      refused("idle", keyed::idle);
      refused("handOver", keyed::handOver);
      refused("close", keyed::close);
      CheckpointHandle handle = on(task, () -> keyed.checkpoint(1)).join();
      var unused = backend.catalog().commit(1, List.of(handle), new byte[0]);
      run(timer, () -> keyed.confirm(1));
      run(task, keyed::close);
      run(timer, keyed::close);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"rocksdb", "heap"})
  void anyCallOnAState_onAnotherThreadThanTheTask_isInvalidAndChangesNothing(String table) {
    try (StateBackend backend = open(table)) {
      assertThat(backend.catalog().takeOver("job")).isEmpty();
      KeyedBackend<Long> keyed = backend.keyed(Serializers.int64(), KEY_GROUPS, ALL);
      var number = Serializers.int64();
      MapState<Long, Long> map = keyed.state(StateDescriptor.map("m", number, number));
      TimerQueue<Long, Long> timers = keyed.timers("t", number);
      ListState<Long> list = keyed.state(StateDescriptor.list("l", number));
      ReducingState<Long> reducing = keyed.state(StateDescriptor.reducing("r", number, Long::sum));
      AggregatingState<Long, Long> aggregating =
          keyed.state(StateDescriptor.aggregating("a", number, new Sum()));
      Namespaced<Long, ValueState<Long>> windows =
          keyed.state(StateDescriptor.value("w", number), number);
      run(
          task,
          () -> {
            keyed.setCurrentKey(7L);
            map.put(2L, 3L);
            list.add(4L);
            timers.register(5L, 6);
            windows.in(8L).update(9L);
          });
      var entries = on(task, map::iterator);
      var keys = on(task, () -> keyed.keys(map));
      var keyIterator = on(task, keys::iterator);
      everyCallIsRefused(map, MapState.class);
      everyCallIsRefused(timers, TimerQueue.class);
      everyCallIsRefused(list, ListState.class);
      everyCallIsRefused(windows, Namespaced.class);
      everyCallIsRefused(on(task, () -> windows.in(8L)), ValueState.class);
      everyCallIsRefused(reducing, ReducingState.class);
      everyCallIsRefused(aggregating, AggregatingState.class);
      refused("next", entries::next);
      refused("hasNext", () -> assertThat(entries.hasNext()).isTrue());
      refused("hasNext", () -> assertThat(keyIterator.hasNext()).isTrue());
      refused("close", keys::close);
      refused("currentKey", keyed::currentKey);

      run(
          task,
          () -> {
            assertThat(entries.next()).isEqualTo(Map.entry(2L, 3L));
            assertThat(keyIterator.next()).isEqualTo(7L);
            keys.close();
            assertThat(map.get(2L)).isEqualTo(3L);
            assertThat(map.contains(1L)).isFalse();
            assertThat(list.get()).containsExactly(4L);
            assertThat(windows.in(8L).value()).isEqualTo(9L);
            assertThat(timers.poll()).isEqualTo(new Timer<>(6, 7L, 5L));
            assertThat(timers.isEmpty()).isTrue();
          });
    }
  }

  private static final class Sum implements AggregateFunction<Long, Long, Long> {
    @Override
    public Long createAccumulator() {
      return 0L;
    }

    @Override
    public Long add(Long value, Long accumulator) {
      return value + accumulator;
    }

    @Override
    public Long result(Long accumulator) {
      return accumulator;
    }
  }

  /** A kind of state that gains a method is covered at once. */
  private void everyCallIsRefused(Object state, Class<?> kind) {
    for (Method method : kind.getMethods()) {
      Object[] arguments =
          Stream.of(method.getParameterTypes()).map(WrongThreadTest::sample).toArray();
      refused(
          method.getName() + " of ",
          () -> {
            try {
              Object unused = method.invoke(state, arguments);
            } catch (InvocationTargetException e) {
              throw (RuntimeException) e.getCause();
            } catch (IllegalAccessException e) {
              throw new AssertionError(e);
            }
          });
    }
  }

  private static Object sample(Class<?> type) {
    if (type == List.class) {
      return List.of(1L);
    }
    return type == Map.class ? Map.of(1L, 1L) : (Object) 1L;
  }

  @Test
  void handOver_theNextThreadOwnsIt() {
    try (StateBackend backend = open("heap")) {
      assertThat(backend.catalog().takeOver("job")).isEmpty();
      KeyedBackend<String> keyed = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
      run(timer, () -> keyed.setCurrentKey("a"));
      run(timer, keyed::handOver);
      run(task, () -> keyed.setCurrentKey("b"));
      refused("checkpoint", () -> keyed.checkpoint(1).join());
    }
  }

  @Test
  void taskThreadHasEnded_anotherOneMayGoOn() throws InterruptedException {
    try (StateBackend backend = open("heap")) {
      assertThat(backend.catalog().takeOver("job")).isEmpty();
      KeyedBackend<String> keyed = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
      Thread ended = new Thread(() -> keyed.setCurrentKey("a"));
      ended.start();
      ended.join();
      assertThat(keyed.currentKey()).isEqualTo("a");
      assertThat(keyed.checkpoint(1).join()).isNotNull();
      keyed.close();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"rocksdb", "heap"})
  void afterClose_whatIsTold_namesWhatTheUserClosed(String table) {
    StateBackend backend = open(table);
    assertThat(backend.catalog().takeOver("job")).isEmpty();
    CheckpointCatalog catalog = backend.catalog();
    KeyedBackend<String> keyed = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
    ValueState<Long> value = keyed.state(StateDescriptor.value("v", Serializers.int64()));
    keyed.setCurrentKey("k");
    value.update(1L);
    keyed.close();
    for (Runnable call :
        List.<Runnable>of(
            () -> value.update(2L),
            () -> assertThat(value.value()).isNull(),
            keyed::idle,
            () -> keyed.setCurrentKey("k"),
            () -> keyed.checkpoint(1).join())) {
      assertClosed(call, "keyed backend");
    }
    backend.close();
    for (Runnable call :
        List.<Runnable>of(
            () -> assertThat(catalog.takeOver("job")).isEmpty(),
            () -> assertThat(catalog.latest()).isEmpty(),
            () -> assertThat(backend.inspector().list()).isEmpty(),
            () -> assertThat(backend.keyed(Serializers.string(), KEY_GROUPS, ALL)).isNull())) {
      assertClosed(call, "state backend");
    }
  }

  private static void assertClosed(Runnable call, String what) {
    assertThatThrownBy(call::run)
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.CLOSED))
        .hasMessageContaining(what);
  }

  @Test
  void close_byAUserFunctionWithinItsOwnCall_endsAndTellsTheRestClosed() {
    StateBackend backend = open("rocksdb");
    assertThat(backend.catalog().takeOver("job")).isEmpty();
    KeyedBackend<String> keyed = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
    var sum =
        keyed.state(
            StateDescriptor.reducing(
                "sum",
                Serializers.int64(),
                (a, b) -> {
                  backend.close();
                  return a + b;
                }));
    keyed.setCurrentKey("k");
    sum.add(1L);
    assertThatThrownBy(() -> sum.add(2L))
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.CLOSED));
  }

  @Test
  void close_whereAPendingCheckpointIsToldOfIt_mayCloseAgain() {
    StateBackend backend = open("rocksdb");
    assertThat(backend.catalog().takeOver("job")).isEmpty();
    KeyedBackend<String> keyed = backend.keyed(Serializers.string(), KEY_GROUPS, ALL);
    ValueState<Long> value = keyed.state(StateDescriptor.value("v", Serializers.int64()));
    keyed.setCurrentKey("k");
    value.update(1L);
    CompletableFuture<CheckpointHandle> told =
        keyed
            .checkpoint(1)
            .whenComplete(
                (handle, failure) -> {
                  keyed.close();
                  backend.close();
                });
    backend.close();
    assertThat(told.handle((handle, failure) -> true).join()).isTrue();
  }

  /**
   * Below the typed states no thread is checked. Whatever two threads do to the log, what was
   * acknowledged restores; and once a checkpoint has failed, every later one does.
   */
  @ParameterizedTest
  @ValueSource(strings = {"rocksdb", "heap"})
  void twoThreadsAtOnce_belowTheCheck_commitNothingTorn(String table) throws Exception {
    long acknowledged = 0;
    StateBackendException torn = null;
    try (StateBackend backend = open(table)) {
      assertThat(backend.catalog().takeOver("job")).isEmpty();
      ByteBackend bytes = backend.bytes(KEY_GROUPS, ALL, List.of(), RestoreMode.REUSE);
      AtomicBoolean stop = new AtomicBoolean();
      CompletableFuture<Void> writing = CompletableFuture.runAsync(() -> write(bytes, stop), task);
      for (int id = 1; id <= 100 && torn == null; id++) {
        try {
          CheckpointHandle handle = bytes.checkpoint(id).join();
          // When the writer was torn away and nothing changes, the one before stands for it.
          acknowledged =
              backend.catalog().commit(id, List.of(handle), new byte[0]).checkpoint().id();
          bytes.confirm(id);
        } catch (CompletionException | StateBackendException e) {
          torn =
              e instanceof StateBackendException known
                  ? known
                  : (StateBackendException) e.getCause();
        } catch (IndexOutOfBoundsException e) {
          // Torn on this thread, before anything was sealed.
          assertThat(e).hasMessageContaining("bounds");
        }
      }
      stop.set(true);
      Object unused = writing.handle((done, failure) -> true).join();
      if (torn != null) {
        assertThat(torn.kind()).isEqualTo(Kind.INVALID);
        assertThat(torn).hasMessageContaining("two threads");
        assertThatThrownBy(() -> bytes.checkpoint(1_000).join())
            .hasMessageContaining("two threads");
      }
    }
    try (StateBackend backend = open(table)) {
      Optional<Checkpoint> last = backend.catalog().takeOver("job");
      assertThat(last.map(Checkpoint::id).orElse(0L)).isEqualTo(acknowledged);
      if (last.isPresent()) {
        ByteBackend restored =
            backend.bytes(KEY_GROUPS, ALL, last.get().handles(), RestoreMode.REUSE);
        ByteWriter into = new ByteWriter();
        boolean unused = restored.get(key(0), key(0).length, into);
      }
    }
  }

  private static void write(ByteBackend bytes, AtomicBoolean stop) {
    byte[] value = new byte[40];
    for (int i = 0; !stop.get(); i++) {
      byte[] key = key(i);
      ByteBuffer.wrap(value).putInt(i);
      bytes.put(key, key.length, value, value.length);
    }
  }

  /** Key group, state id, a key of four bytes, the empty namespace. */
  private static byte[] key(int i) {
    byte[] key = new byte[9];
    key[1] = (byte) (i % KEY_GROUPS);
    key[2] = 7;
    key[3] = 4;
    ByteBuffer.wrap(key).putInt(4, i % 20_000);
    return key;
  }
}
