package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Operation;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableScan;
import io.alluvium.spi.TableSnapshot;
import io.alluvium.testkit.table.Change;
import io.alluvium.testkit.table.CoalescedChanges;
import io.alluvium.testkit.table.ModelTable;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the kit cannot know: allocation, memory, files, native objects. */
final class RocksDbTableTest {

  @TempDir Path directory;

  @Test
  void readsAndWrites_inSteadyState_allocateNothing() {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      byte[] key = TestTables.key(3, 1, "key");
      byte[] list = TestTables.key(3, 2, "list");
      byte[] value = new byte[100];
      ByteWriter into = new ByteWriter();
      Runnable work =
          () -> {
            for (int i = 0; i < 2_000; i++) {
              table.get(key, key.length, into);
              table.put(key, key.length, value, value.length);
              table.delete(list, list.length);
              table.merge(list, list.length, value, value.length);
            }
          };
      for (int i = 0; i < 10; i++) {
        work.run();
      }
      assertThat(allocated(work)).as("bytes in 8 000 calls").isLessThan(8_000);
    }
  }

  @Test
  void scan_allocatesPerScanNotPerEntry() {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      for (int i = 0; i < 5_000; i++) {
        TestTables.put(table, TestTables.key(3, 1, "k" + i), "value");
      }
      byte[] prefix = TestTables.state(3, 1);
      Runnable work =
          () -> {
            int entries = 0;
            try (TableScan scan = table.scan(prefix, prefix.length)) {
              while (scan.next()) {
                entries++;
              }
            }
            assertThat(entries).isEqualTo(5_000);
          };
      for (int i = 0; i < 10; i++) {
        work.run();
      }
      assertThat(allocated(work)).as("bytes in a scan of 5 000 entries").isLessThan(10_000);
    }
  }

  private static long allocated(Runnable work) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    work.run();
    return threads.getCurrentThreadAllocatedBytes() - before;
  }

  @Test
  void deleteRange_moreKeysThanAreDeletedOneByOne_removesAll() {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      for (int keys :
          new int[] {
            PrefixRemover.MAX_POINT_DELETES,
            PrefixRemover.MAX_POINT_DELETES + 1,
            3 * PrefixRemover.MAX_POINT_DELETES
          }) {
        for (int i = 0; i < keys; i++) {
          TestTables.put(table, TestTables.key(3, 1, "k" + i), "value");
        }
        TestTables.put(table, TestTables.key(3, 2, "other"), "stays");
        byte[] prefix = TestTables.state(3, 1);
        table.deleteRange(prefix, prefix.length);
        ModelTable left = new ModelTable();
        left.addAll(table.scan(new byte[0], 0));
        assertThat(left.entries()).as("after %s keys", keys).hasSize(1);
      }
    }
  }

  @Test
  void deleteRange_keysOfMoreBytesThanAreDeletedOneByOne_removesAll() {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      String longKey = "k".repeat(PrefixRemover.MAX_POINT_DELETE_BYTES / 3);
      for (int i = 0; i < 4; i++) {
        TestTables.put(table, TestTables.key(3, 1, longKey + i), "value");
      }
      TestTables.put(table, TestTables.key(3, 2, "other"), "stays");
      byte[] prefix = TestTables.state(3, 1);
      table.deleteRange(prefix, prefix.length);
      ModelTable left = new ModelTable();
      left.addAll(table.scan(new byte[0], 0));
      assertThat(left.entries()).hasSize(1);
    }
  }

  /** Range deletes and entries of one call, many enough for files that the table takes over. */
  @Test
  void apply_rangeDeletesThenEntriesByFile_entriesSurvive() {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      ModelTable model = new ModelTable();
      List<Change> old = new ArrayList<>();
      for (int i = 0; i < 4_000; i++) {
        old.add(new Change(i, Operation.PUT, TestTables.key(i % 4, 1, "k" + i), new byte[] {1, 2}));
      }
      old.forEach(change -> change.applyTo(table));
      old.forEach(model::apply);
      List<Change> changes = new ArrayList<>();
      Random random = new Random(3);
      for (int keyGroup = 0; keyGroup < 3; keyGroup++) {
        changes.add(
            new Change(0, Operation.DELETE_RANGE, TestTables.state(keyGroup, 1), new byte[0]));
      }
      for (int i = 0; i < 6_000; i += 2) {
        byte[] value = new byte[4_000];
        random.nextBytes(value);
        Operation operation =
            i % 10 == 0 ? Operation.DELETE : i % 10 == 2 ? Operation.MERGE : Operation.PUT;
        byte[] key = TestTables.key(i % 4, 1, "k" + i);
        changes.add(
            new Change(i, operation, key, operation == Operation.DELETE ? new byte[0] : value));
      }
      changes.forEach(model::apply);
      CoalescedChanges sorted = new CoalescedChanges(changes);
      assertThat(sorted.sizeBytes()).isGreaterThan(BulkApply.INGEST_FROM_BYTES);
      table.apply(sorted);

      assertThat(lines(table)).isEqualTo(model.lines());
      Table restored =
          tables.open(
              TestTables.ALL,
              List.of(tables.part(table.snapshotNow(tables.fresh()), TestTables.ALL)));
      assertThat(lines(restored)).isEqualTo(model.lines());
    }
  }

  private static List<String> lines(Table table) {
    ModelTable model = new ModelTable();
    model.addAll(table.scan(new byte[0], 0));
    return model.lines();
  }

  /** Files may move to a process with RocksDB 8.10, which reads no newer version (P8). */
  @Test
  void files_flushedCompactedAndLoaded_haveFormatVersion5() throws IOException {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      Random random = new Random(4);
      List<Change> bulk = new ArrayList<>();
      for (int i = 0; i < 3_000; i++) {
        byte[] value = new byte[3_000];
        random.nextBytes(value);
        byte[] key = TestTables.key(i % 16, 1, "k" + i);
        table.put(key, key.length, value, 200);
        bulk.add(new Change(i, Operation.PUT, TestTables.key(i % 16, 2, "k" + i), value));
      }
      table.apply(new CoalescedChanges(bulk));
      TableSnapshot snapshot = table.snapshotNow(tables.fresh());
      int files = 0;
      for (TableSnapshot.File file : snapshot.files()) {
        if (file.immutable()) {
          assertThat(formatVersion(file.path())).as(file.name()).isEqualTo(5);
          files++;
        }
      }
      assertThat(files).isGreaterThan(3);
    }
  }

  /** A block-based table ends with its format version (4 bytes) and a magic number (8 bytes). */
  private static int formatVersion(Path file) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    assertThat(bytes.getLong(bytes.limit() - 8)).isEqualTo(0x88e241b785f4cff7L);
    return bytes.getInt(bytes.limit() - 12);
  }

  @Test
  void memory_manyTablesAndMuchData_staysWithinItsLimit() {
    Map<String, LongSupplier> gauges = new ConcurrentHashMap<>();
    Metrics metrics = gauges(gauges);
    try (TestTables tables = new TestTables(directory, Map.of(), metrics)) {
      List<Table> open = List.of(tables.open(), tables.open(), tables.open());
      byte[] value = new byte[1_000];
      Random random = new Random(5);
      ByteWriter into = new ByteWriter();
      long worst = 0;
      for (int i = 0; i < 30_000; i++) {
        Table table = open.get(i % open.size());
        byte[] key = TestTables.key(i % 16, 1, "k" + i);
        random.nextBytes(value);
        table.put(key, key.length, value, value.length);
        byte[] earlier = TestTables.key(i / 2 % 16, 1, "k" + i / 2);
        table.get(earlier, earlier.length, into);
        if (i % 100 == 0) {
          worst = Math.max(worst, read(gauges, "rocksdb.cache.usage.bytes"));
        }
      }
      long capacity = read(gauges, "rocksdb.cache.capacity.bytes");
      assertThat(capacity).isBetween(6L << 20, 8L << 20);
      assertThat(worst).isBetween(capacity / 2, 8L << 20);
      assertThat(read(gauges, "rocksdb.memtables.bytes")).isBetween(1L, 4L << 20);
      assertThat(read(gauges, "rocksdb.cache.pinned.bytes")).isPositive();
      assertThat(read(gauges, "rocksdb.table.readers.bytes")).isNotNegative();
      assertThat(read(gauges, "rocksdb.live.sst.bytes")).isGreaterThan(5L << 20);
    }
    gauges.forEach((name, value) -> assertThat(value.getAsLong()).as(name).isZero());
  }

  @Test
  void metrics_turnedOff_registerNothing() {
    Map<String, LongSupplier> gauges = new ConcurrentHashMap<>();
    Map<String, String> off = Map.of(RocksDbOptions.METRIC_MEM_TABLES.key(), "false");
    try (TestTables tables = new TestTables(directory, off, gauges(gauges))) {
      assertThat(gauges).doesNotContainKey("rocksdb.memtables.bytes").hasSize(5);
      tables.open();
    }
  }

  private static long read(Map<String, LongSupplier> gauges, String name) {
    return Objects.requireNonNull(gauges.get(name), name).getAsLong();
  }

  private static Metrics gauges(Map<String, LongSupplier> into) {
    return new Metrics() {
      @Override
      public Counter counter(String name) {
        return NONE.counter(name);
      }

      @Override
      public Histogram histogram(String name) {
        return NONE.histogram(name);
      }

      @Override
      public void gauge(String name, LongSupplier value) {
        into.put(name, value);
      }
    };
  }

  @Test
  void close_withScansOpen_closesThemAndEverythingElse() {
    try (TestTables tables = new TestTables(directory)) {
      int shared = tables.tables.liveNatives();
      Table table = tables.open();
      TestTables.put(table, TestTables.key(1, 1, "a"), "1");
      TableScan open = table.scan(new byte[0], 0);
      assertThat(open.next()).isTrue();
      TableScan closed = table.scan(new byte[0], 0);
      closed.close();
      closed.close();
      table.close();
      assertThat(tables.tables.liveNatives()).isEqualTo(shared);
      open.close();
    }
  }
}
