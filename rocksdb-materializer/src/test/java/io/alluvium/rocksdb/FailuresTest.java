package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.config.Configuration;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableSnapshot;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

/** What goes wrong, and what the user reads then. */
final class FailuresTest {

  private static final KeyGroupRange LOW = new KeyGroupRange(0, 8);
  private static final KeyGroupRange HIGH = new KeyGroupRange(8, 16);

  @TempDir Path directory;

  private static AbstractThrowableAssert<?, ? extends Throwable> assertFails(
      Kind kind, ThrowingCallable call) {
    return assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            StateBackendException.class,
            e -> assertThat(e.kind()).as("kind of %s", e).isEqualTo(kind));
  }

  /** A part with one table file, and what a test does to it. */
  private TablePart part(TestTables tables, KeyGroupRange keyGroups) {
    Table table = tables.open();
    TestTables.put(table, TestTables.key(1, 1, "a"), "1");
    TestTables.put(table, TestTables.key(9, 1, "a"), "1");
    TableSnapshot snapshot = table.snapshotNow(tables.fresh());
    return tables.part(snapshot, keyGroups);
  }

  private static Path file(TablePart part, String pattern) throws IOException {
    try (var files = Files.list(part.directory())) {
      return files
          .filter(path -> path.getFileName().toString().matches(pattern))
          .findFirst()
          .orElseThrow();
    }
  }

  @ParameterizedTest
  @CsvSource({"CURRENT", "MANIFEST.*", ".*sst"})
  void open_fileMissing_isCorruptAndClosesWhatItOpened(String pattern) throws IOException {
    try (TestTables tables = new TestTables(directory)) {
      TablePart alone = part(tables, TestTables.ALL);
      Files.delete(file(alone, pattern));
      int before = tables.tables.liveNatives();
      assertFails(Kind.CORRUPT, () -> tables.open(TestTables.ALL, List.of(alone)));
      assertFails(Kind.CORRUPT, () -> tables.tables.read(alone));
      assertThat(tables.tables.liveNatives()).isEqualTo(before);

      TablePart low = part(tables, LOW);
      TablePart high = part(tables, HIGH);
      Files.delete(file(high, pattern));
      int withTables = tables.tables.liveNatives();
      assertFails(Kind.CORRUPT, () -> tables.open(TestTables.ALL, List.of(low, high)));
      assertThat(tables.tables.liveNatives()).isEqualTo(withTables);
    }
  }

  @Test
  void read_blockWithAFlippedByte_isCorrupt() throws IOException {
    try (TestTables tables = new TestTables(directory)) {
      TablePart part = part(tables, TestTables.ALL);
      flipAByte(file(part, ".*sst"), 5);
      Table table = tables.open(TestTables.ALL, List.of(part));
      assertFails(Kind.CORRUPT, () -> TestTables.get(table, TestTables.key(1, 1, "a")))
          .hasMessageContaining(".sst");
      assertFails(
          Kind.CORRUPT,
          () -> {
            try (var scan = table.scan(new byte[0], 0)) {
              assertThat(scan.next()).isFalse();
            }
          });
    }
  }

  @Test
  void open_twoPartsWithTheSameKeyGroups_isInvalid() {
    try (TestTables tables = new TestTables(directory)) {
      TablePart one = part(tables, new KeyGroupRange(0, 9));
      TablePart other = part(tables, HIGH);
      assertFails(Kind.INVALID, () -> tables.open(TestTables.ALL, List.of(one, other)))
          .hasMessageContaining("[8, 9)");
    }
  }

  @Test
  void open_whereATableIs_isInvalid() {
    try (TestTables tables = new TestTables(directory)) {
      tables.open();
      Path there = tables.last();
      assertFails(
              Kind.INVALID,
              () -> tables.tables.open(there, TestTables.ALL, List.of(), part -> null))
          .hasMessageContaining(there.toString());
    }
  }

  @Test
  void open_whereAFileIs_isUnavailableAndNamesIt() throws IOException {
    try (TestTables tables = new TestTables(directory)) {
      Path file = Files.createFile(tables.fresh());
      Path below = file.resolve("table");
      assertFails(
              Kind.UNAVAILABLE,
              () -> tables.tables.open(below, TestTables.ALL, List.of(), part -> null))
          .hasMessageContaining(below.toString());
    }
  }

  @Test
  void open_afterClose_throws() {
    TestTables tables = new TestTables(directory);
    tables.close();
    assertFails(Kind.CLOSED, tables::open);
  }

  @Test
  void diskFull_saysWhereAndWhatToDo() {
    RocksDBException full =
        new RocksDBException(
            "", new Status(Status.Code.IOError, Status.SubCode.NoSpace, "No space left"));
    StateBackendException e = RocksDbFailures.of(full, "write a value", Path.of("/data/t1"));
    assertThat(e.kind()).isEqualTo(Kind.UNAVAILABLE);
    assertThat(e)
        .hasMessageContainingAll(
            "cannot write a value in '/data/t1'", "disk is full", "state.backend.rocksdb.localdir");
    IOException io = new IOException("/data/t1/x: No space left on device");
    assertThat(RocksDbFailures.of(io, "restore a table", Path.of("/data/t1")))
        .hasMessageContaining("disk is full");
  }

  @ParameterizedTest
  @CsvSource({
    "IOError,       None,        UNAVAILABLE, 'While open: Too many open files', files.open",
    "IOError,       None,        UNAVAILABLE, 'lock hold by current process',    another table",
    "Incomplete,    MemoryLimit, UNAVAILABLE, 'Insert failed',       memory.fixed-per-tm",
    "Corruption,    None,        CORRUPT,     'block checksum mismatch', mismatch",
    "Corruption,    None,        INCOMPATIBLE,'unsupported format_version: 7', newer RocksDB",
    "ShutdownInProgress, None,   CLOSED,      '',                    closed",
    "NotSupported,  None,        INTERNAL,    'no such thing',       no such thing",
  })
  void status_becomesTheKindThatSaysWhatToDo(
      Status.Code code, Status.SubCode subCode, Kind kind, String state, String expected) {
    StateBackendException e =
        RocksDbFailures.of(
            new RocksDBException("", new Status(code, subCode, state)), "x", Path.of("/t"));
    assertThat(e.kind()).isEqualTo(kind);
    assertThat(e).hasMessageContaining(expected);
  }

  @Test
  void options_ratiosThatLeaveNoCache_areInvalid() {
    Map<String, String> settings =
        Map.of(
            RocksDbOptions.WRITE_BUFFER_RATIO.key(), "0.9",
            RocksDbOptions.HIGH_PRIO_RATIO.key(), "0.2");
    assertFails(
            Kind.INVALID,
            () -> new TestTables(directory, settings, io.alluvium.spi.Metrics.NONE).close())
        .hasMessageContaining("leave no room");
  }

  @ParameterizedTest
  @CsvSource({
    "compression.per.level, GZIP, LZ4_COMPRESSION",
    "compaction.style, FIFO, UNIVERSAL",
    "compression.per.level, LZ4_COMPRESSION;LZ4_COMPRESSION;LZ4_COMPRESSION;LZ4_COMPRESSION"
        + ";LZ4_COMPRESSION;LZ4_COMPRESSION;LZ4_COMPRESSION;LZ4_COMPRESSION, at most 7",
    "log.level, LOUD, WARN_LEVEL",
    "memory.fixed-per-tm, 1 kb, 4 mb",
  })
  void options_badValue_isRefusedWithWhatIsAllowed(String key, String value, String expected) {
    assertFails(
            Kind.INVALID,
            () ->
                Configuration.of(
                    Map.of("state.backend.rocksdb." + key, value),
                    new RocksDbTableProvider().options()))
        .hasMessageContaining(expected);
  }

  @Test
  void strictLimit_tablesWork() {
    Map<String, String> strict = Map.of(RocksDbOptions.STRICT_LIMIT.key(), "true");
    try (TestTables tables = new TestTables(directory, strict, io.alluvium.spi.Metrics.NONE)) {
      Table table = tables.open();
      for (int i = 0; i < 20_000; i++) {
        TestTables.put(table, TestTables.key(i % 16, 1, "k" + i), "value " + i);
      }
      assertThat(TestTables.get(table, TestTables.key(8, 1, "k8"))).isEqualTo("value 8");
    }
  }

  @Test
  void deleteRange_failsHalfWay_hasRemovedNothing() throws IOException {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      // More than one block of a table file: the damage lies behind the first keys.
      Random random = new Random(1);
      for (int i = 0; i < 200; i++) {
        byte[] key = TestTables.key(1, 1, "k%04d".formatted(i));
        byte[] value = new byte[2_000];
        random.nextBytes(value);
        table.put(key, key.length, value, value.length);
      }
      for (TableSnapshot.File file : table.snapshotNow(tables.fresh()).files()) {
        if (file.immutable()) {
          flipAByte(file.path(), file.sizeBytes() * 2 / 3);
        }
      }
      byte[] prefix = TestTables.state(1, 1);
      assertFails(Kind.CORRUPT, () -> table.deleteRange(prefix, prefix.length));
      for (int i = 0; i < 10; i++) {
        byte[] key = TestTables.key(1, 1, "k%04d".formatted(i));
        assertThat(table.get(key, key.length, new ByteWriter())).as("key %s", i).isTrue();
      }
    }
  }

  private static void flipAByte(Path path, long at) throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
      file.seek(at);
      int old = file.read();
      file.seek(at);
      file.write(old ^ 0x40);
    }
  }
}
