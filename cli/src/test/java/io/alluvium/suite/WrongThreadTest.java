package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.Checkpoint;
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
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
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
        .hasMessageContaining(call + " was called by thread 'timer'")
        .hasMessageContaining("belongs to thread 'task'")
        .hasMessageContaining("queue");
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
    int acknowledged = 0;
    StateBackendException torn = null;
    try (StateBackend backend = open(table)) {
      assertThat(backend.catalog().takeOver("job")).isEmpty();
      ByteBackend bytes = backend.bytes(KEY_GROUPS, ALL, List.of(), RestoreMode.REUSE);
      AtomicBoolean stop = new AtomicBoolean();
      CompletableFuture<Void> writing = CompletableFuture.runAsync(() -> write(bytes, stop), task);
      for (int id = 1; id <= 100 && torn == null; id++) {
        try {
          CheckpointHandle handle = bytes.checkpoint(id).join();
          var unused = backend.catalog().commit(id, List.of(handle), new byte[0]);
          bytes.confirm(id);
          acknowledged = id;
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
