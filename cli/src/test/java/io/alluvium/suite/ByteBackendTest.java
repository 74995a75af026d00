package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.CheckpointHandle;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.bytes.ByteBackend;
import io.alluvium.bytes.ByteQueue;
import io.alluvium.config.Configuration;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.TableProvider;
import io.alluvium.testkit.blob.MapBlobStore;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Backends at the level of bytes, under a host that keeps the checkpoints and shares the tables.
 */
final class ByteBackendTest {

  private static final KeyGroupRange GROUPS = new KeyGroupRange(0, 4);
  private static final int STATE = 7;

  @TempDir private Path directory;

  private final Execution execution = Execution.threads(1, 1, 1);
  private final MapBlobStore store = new MapBlobStore();
  private final Names names = new Names();
  private TableProvider.@Nullable Tables tables;
  private @Nullable StateBackend process;

  /** Names as a host hands them out. */
  private static final class Names implements BlobNames {
    private final AtomicLong counter = new AtomicLong();

    @Override
    public BlobName next(BlobName.Kind kind) {
      return new BlobName(incarnation(), counter.getAndIncrement(), kind);
    }

    @Override
    public Incarnation incarnation() {
      return new Incarnation(1, 2);
    }
  }

  private StateBackend open(String table) {
    Map<String, String> settings =
        Map.of(
            "state.backend.type",
            table,
            "state.checkpoints.dir",
            "memory:unused",
            "state.backend.rocksdb.localdir",
            directory.toString());
    TableProvider.Tables shared =
        ServiceLoader.load(TableProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .filter(provider -> provider.name().equals(table))
            .findFirst()
            .orElseThrow()
            .open(Configuration.of(settings, StateBackend.options()), execution, Metrics.NONE);
    tables = shared;
    StateBackend opened =
        StateBackend.open(
            settings,
            new Components(
                Optional.of(store),
                Optional.of(execution),
                new Random(1),
                Metrics.NONE,
                Optional.of(new Components.Host(names, shared, () -> {}, Optional.empty()))));
    process = opened;
    return opened;
  }

  @AfterEach
  void close() {
    if (process != null) {
      process.close();
    }
    if (tables != null) {
      tables.close();
    }
    execution.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"heap", "rocksdb"})
  void checkpoint_restoresEverything(String table) {
    StateBackend opened = open(table);
    ByteBackend first = opened.bytes(4, GROUPS, List.of(), RestoreMode.REUSE);
    put(first, 1, "a", "x");
    put(first, 3, "b", "y");
    CheckpointHandle one = execution.await(first.checkpoint(1));
    first.confirm(1);
    put(first, 3, "b", "z");
    CheckpointHandle two = execution.await(first.checkpoint(2));
    first.confirm(2);
    assertThat(two.blobs()).containsAll(one.blobs());
    first.close();

    ByteBackend second =
        opened.bytes(
            4,
            new KeyGroupRange(2, 4),
            List.of(CheckpointHandle.decode(two.encode())),
            RestoreMode.REUSE);
    assertThat(get(second, 3, "b")).isEqualTo("z");
  }

  @ParameterizedTest
  @ValueSource(strings = {"heap", "rocksdb"})
  void checkpointAnew_namesNothingOlder_laterOnesStandOnIt(String table) {
    StateBackend opened = open(table);
    ByteBackend backend = opened.bytes(4, GROUPS, List.of(), RestoreMode.REUSE);
    put(backend, 1, "a", "x");
    Set<BlobName> older = new HashSet<>(execution.await(backend.checkpoint(1)).blobs());
    backend.confirm(1);
    CheckpointHandle anew = execution.await(backend.checkpointAnew(2));
    backend.confirm(2);
    older.addAll(anew.blobs());
    assertThat(anew.blobs()).isNotEmpty();
    CheckpointHandle again = execution.await(backend.checkpointAnew(3));
    backend.confirm(3);
    assertThat(again.blobs()).isNotEmpty().doesNotContainAnyElementsOf(older);
    put(backend, 2, "b", "y");
    CheckpointHandle next = execution.await(backend.checkpoint(4));
    assertThat(next.blobs()).containsAll(again.blobs()).doesNotContainAnyElementsOf(older);
    backend.close();

    ByteBackend restored = opened.bytes(4, GROUPS, List.of(next), RestoreMode.REUSE);
    assertThat(get(restored, 1, "a")).isEqualTo("x");
    assertThat(get(restored, 2, "b")).isEqualTo("y");
  }

  @ParameterizedTest
  @ValueSource(strings = {"heap", "rocksdb"})
  void copy_standsAlone_leavesTheChainAlone(String table) {
    StateBackend opened = open(table);
    ByteBackend backend = opened.bytes(4, GROUPS, List.of(), RestoreMode.REUSE);
    put(backend, 1, "a", "x");
    CheckpointHandle before = execution.await(backend.checkpoint(1));
    MapBlobStore place = new MapBlobStore();
    CheckpointHandle copy = execution.await(backend.copy(2, place));
    assertThat(place.content().keySet())
        .containsExactlyInAnyOrderElementsOf(
            copy.blobs().stream().map(BlobName::toString).toList());
    assertThat(store.content().keySet())
        .doesNotContainAnyElementsOf(copy.blobs().stream().map(BlobName::toString).toList());
    CheckpointHandle after = execution.await(backend.checkpoint(3));
    assertThat(after.blobs()).isEqualTo(before.blobs());
    backend.close();
    place.content().forEach((name, bytes) -> putAll(store, name, bytes));

    ByteBackend restored = opened.bytes(4, GROUPS, List.of(copy), RestoreMode.DETACHED);
    assertThat(get(restored, 1, "a")).isEqualTo("x");
  }

  @ParameterizedTest
  @ValueSource(strings = {"heap", "rocksdb"})
  void load_isInTheFirstCheckpoint(String table) {
    StateBackend opened = open(table);
    ByteBackend backend = opened.bytes(4, GROUPS, List.of(), RestoreMode.DETACHED);
    byte[] key = key(2, "k");
    backend.load(key, key.length, new byte[] {'v'}, 1);
    assertThat(backend.nextSqn()).isZero();
    CheckpointHandle handle = execution.await(backend.checkpoint(1));
    backend.close();

    ByteBackend restored = opened.bytes(4, GROUPS, List.of(handle), RestoreMode.REUSE);
    assertThat(get(restored, 2, "k")).isEqualTo("v");
  }

  @ParameterizedTest
  @ValueSource(strings = {"heap", "rocksdb"})
  void queue_isOrderedByRankThenKeyGroup(String table) {
    ByteBackend backend = open(table).bytes(4, GROUPS, List.of(), RestoreMode.REUSE);
    ByteQueue queue = backend.queue(STATE, GROUPS, ByteQueue.Start.EMPTY);
    byte[] late = timer(0, 9, "a");
    byte[] early = timer(3, 5, "b");
    byte[] sameTime = timer(1, 5, "c");
    assertThat(queue.first()).isNull();
    assertThat(queue.add(late, late.length)).isTrue();
    assertThat(queue.add(early, early.length)).isTrue();
    assertThat(queue.add(sameTime, sameTime.length)).isTrue();
    assertThat(queue.add(early, early.length)).isFalse();
    assertThat(queue.first()).isEqualTo(sameTime);
    queue.removeFirst();
    assertThat(queue.remove(sameTime, sameTime.length)).isFalse();
    assertThat(queue.first()).isEqualTo(early);
    assertThat(queue.remove(early, early.length)).isTrue();
    assertThat(queue.first()).isEqualTo(late);
    queue.removeFirst();
    assertThat(queue.first()).isNull();
    assertThatThrownBy(queue::removeFirst).isInstanceOf(IllegalStateException.class);
  }

  @ParameterizedTest
  @ValueSource(strings = "heap")
  void catalog_underAHost_isRefused(String table) {
    StateBackend opened = open(table);
    assertThatThrownBy(opened::catalog)
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("host");
  }

  private static void putAll(BlobStore into, String name, byte[] bytes) {
    into.put(name, List.of(java.nio.ByteBuffer.wrap(bytes)));
  }

  private static void put(ByteBackend backend, int keyGroup, String key, String value) {
    byte[] row = key(keyGroup, key);
    ByteWriter bytes = new ByteWriter();
    bytes.writeString(value);
    backend.put(row, row.length, bytes.array(), bytes.length());
  }

  private static @Nullable String get(ByteBackend backend, int keyGroup, String key) {
    byte[] row = key(keyGroup, key);
    ByteWriter value = new ByteWriter();
    if (!backend.get(row, row.length, value)) {
      return null;
    }
    String text = new String(value.toByteArray(), java.nio.charset.StandardCharsets.UTF_8);
    return text.substring(text.length() - 1);
  }

  private static byte[] key(int keyGroup, String key) {
    ByteWriter row = new ByteWriter();
    KeyLayout.writeState(row, keyGroup, STATE);
    row.writeString(key);
    row.writeVarInt(0);
    return row.toByteArray();
  }

  private static byte[] timer(int keyGroup, long rank, String rest) {
    ByteWriter row = new ByteWriter();
    KeyLayout.writeState(row, keyGroup, STATE);
    row.writeShort(0);
    row.writeLong(rank);
    row.writeString(rest);
    return row.toByteArray();
  }
}
