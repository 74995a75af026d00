package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rocksdb.Cache;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactionStyle;
import org.rocksdb.DBOptions;
import org.rocksdb.PlainTableConfig;
import org.rocksdb.ReadOptions;
import org.rocksdb.RemoveEmptyValueCompactionFilter;
import org.rocksdb.TickerType;
import org.rocksdb.WriteBufferManager;
import org.rocksdb.WriteOptions;

/** What an engine that knows RocksDB may change, and what stays as the table needs it. */
final class RocksDbHostTest {

  @TempDir Path directory;

  /** Changes the options of the data and remembers what happened to its handles. */
  private static class Changing implements RocksDbHost {
    final List<String> closed = new ArrayList<>();
    private final UnaryOperator<ColumnFamilyOptions> change;

    Changing(UnaryOperator<ColumnFamilyOptions> change) {
      this.change = change;
    }

    @Override
    public DBOptions database(DBOptions options, Collection<AutoCloseable> handles) {
      handles.add(() -> closed.add("database"));
      return new DBOptions(options);
    }

    @Override
    public ColumnFamilyOptions columnFamily(
        ColumnFamilyOptions options, Collection<AutoCloseable> handles) {
      handles.add(() -> closed.add("data"));
      return change.apply(options);
    }

    @Override
    public WriteOptions writes(WriteOptions options, Collection<AutoCloseable> handles) {
      handles.add(() -> closed.add("writes"));
      return options.setDisableWAL(false).setSync(true);
    }

    @Override
    public ReadOptions reads(ReadOptions options, Collection<AutoCloseable> handles) {
      handles.add(() -> closed.add("reads"));
      return new ReadOptions(options).setTailing(true);
    }
  }

  private TestTables tables(RocksDbHost host) {
    return new TestTables(directory, Map.of(), Metrics.NONE, host);
  }

  @Test
  void changedOptions_keepWhatTheTableNeeds_andHandlesCloseInOrder() {
    Changing host =
        new Changing(
            options ->
                options
                    .setNumLevels(3)
                    .setMergeOperatorName("max")
                    .useFixedLengthPrefixExtractor(4));
    try (TestTables tables = tables(host)) {
      Table table = tables.open();
      byte[] list = TestTables.key(3, 1, "list");
      table.merge(list, list.length, new byte[] {'a'}, 1);
      table.merge(list, list.length, new byte[] {'b'}, 1);
      assertThat(TestTables.get(table, list)).isEqualTo("ab");
      for (int i = 0; i < 2_000; i++) {
        TestTables.put(table, TestTables.key(i % 16, 1, "k" + i), "v" + i);
      }
      // Another table, with other options, takes the files over.
      TablePart part = tables.part(table.snapshotNow(tables.fresh()), TestTables.ALL);
      assertThat(host.closed).isEmpty();
      table.close();
      assertThat(host.closed).containsExactly("database", "data", "writes", "reads");
      try (TestTables plain = new TestTables(directory.resolve("plain"), Map.of(), Metrics.NONE)) {
        Table restored = plain.open(TestTables.ALL, List.of(part));
        assertThat(TestTables.get(restored, list)).isEqualTo("ab");
        assertThat(TestTables.get(restored, TestTables.key(15, 1, "k1999"))).isEqualTo("v1999");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"FIFO", "compaction filter", "table format"})
  void optionsThatLoseState_areRefused(String what) {
    UnaryOperator<ColumnFamilyOptions> change =
        options ->
            switch (what) {
              case "FIFO" -> options.setCompactionStyle(CompactionStyle.FIFO);
              case "compaction filter" ->
                  options.setCompactionFilter(new RemoveEmptyValueCompactionFilter());
              default -> options.setTableFormatConfig(new PlainTableConfig());
            };
    try (TestTables tables = tables(new Changing(change))) {
      assertThatThrownBy(tables::open)
          .isInstanceOf(StateBackendException.class)
          .hasMessageContaining(what)
          .hasMessageContaining("factory");
    }
  }

  @Test
  void memoryOfTheHost_isUsedByAllItsTables_andNotClosedWithThem() {
    MemoryBudget budget = new MemoryBudget(24 << 20, 0.5, 0.1);
    try (Cache cache = budget.newCache();
        WriteBufferManager writeBuffers = budget.newWriteBuffers(cache)) {
      List<RocksDbHost.Readings> tables = new ArrayList<>();
      RocksDbHost host =
          new RocksDbHost() {
            @Override
            public Optional<Memory> memory() {
              return Optional.of(
                  new Memory(
                      cache,
                      budget.cacheBytes(),
                      Optional.of(writeBuffers),
                      budget.writeBufferBytes()));
            }

            @Override
            public void opened(Readings readings) {
              tables.add(readings);
            }
          };
      try (TestTables one = tables(host);
          TestTables other =
              new TestTables(directory.resolve("other"), Map.of(), Metrics.NONE, host)) {
        Table table = one.open();
        Table unused = other.open();
        long before = tables.get(1).property("rocksdb.block-cache-usage");
        // The cache is charged for write buffers in steps of 256 KB.
        TestTables.put(table, TestTables.key(1, 1, "k"), "v".repeat(2_000_000));
        for (RocksDbHost.Readings each : tables) {
          assertThat(each.property("rocksdb.block-cache-capacity")).isEqualTo(20 << 20);
          assertThat(each.property("rocksdb.block-cache-usage")).isGreaterThan(before);
        }
      }
      assertThat(cache.isOwningHandle()).isTrue();
      assertThat(tables.get(0).property("rocksdb.block-cache-capacity")).isZero();
    }
  }

  @Test
  void readings_tellWhatHappened_untilTheTableIsClosed() {
    List<RocksDbHost.Readings> tablesOpened = new ArrayList<>();
    RocksDbHost host =
        new RocksDbHost() {
          @Override
          public Set<TickerType> tickers() {
            return Set.of(TickerType.BYTES_WRITTEN);
          }

          @Override
          public void opened(Readings opened) {
            tablesOpened.add(opened);
          }
        };
    try (TestTables tables = tables(host)) {
      Table table = tables.open();
      RocksDbHost.Readings readings = tablesOpened.get(0);
      TestTables.put(table, TestTables.key(1, 1, "k"), "v".repeat(1000));
      assertThat(readings.ticker(TickerType.BYTES_WRITTEN)).isBetween(1000L, 2000L);
      assertThat(readings.property("rocksdb.estimate-num-keys")).isEqualTo(1);
      assertThat(readings.property("rocksdb.num-files-at-level0")).isZero();
      table.close();
      assertThat(readings.ticker(TickerType.BYTES_WRITTEN)).isZero();
      assertThat(readings.property("rocksdb.estimate-num-keys")).isZero();
    }
  }

  /** What it registered before it failed is read by a thread of its metrics. */
  @Test
  void opened_failing_leavesReadingsThatTouchNothingFreed() {
    List<RocksDbHost.Readings> tablesOpened = new ArrayList<>();
    RocksDbHost host =
        new RocksDbHost() {
          @Override
          public Set<TickerType> tickers() {
            return Set.of(TickerType.BYTES_WRITTEN);
          }

          @Override
          public void opened(Readings opened) {
            tablesOpened.add(opened);
            throw new IllegalStateException("registered twice");
          }
        };
    try (TestTables tables = tables(host)) {
      assertThatThrownBy(tables::open).hasMessageContaining("registered twice");
      RocksDbHost.Readings readings = tablesOpened.get(0);
      assertThat(readings.property("rocksdb.estimate-num-keys")).isZero();
      assertThat(readings.ticker(TickerType.BYTES_WRITTEN)).isZero();
    }
  }

  private void checkRoundTrip(Map<String, String> written, Map<String, String> read) {
    try (TestTables tables = new TestTables(directory.resolve("w"), written, Metrics.NONE);
        TestTables others = new TestTables(directory.resolve("r"), read, Metrics.NONE)) {
      Table table = tables.open();
      for (int i = 0; i < 20_000; i++) {
        TestTables.put(table, TestTables.key(i % 16, 1, "k" + i), "value " + i);
      }
      TablePart part = tables.part(table.snapshotNow(tables.fresh()), TestTables.ALL);
      Table restored = others.open(TestTables.ALL, List.of(part));
      for (int i = 0; i < 20_000; i += 997) {
        assertThat(TestTables.get(restored, TestTables.key(i % 16, 1, "k" + i)))
            .isEqualTo("value " + i);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "NO_COMPRESSION",
        "SNAPPY_COMPRESSION",
        "ZLIB_COMPRESSION",
        "BZLIB2_COMPRESSION",
        "LZ4_COMPRESSION",
        "LZ4HC_COMPRESSION",
        "ZSTD_COMPRESSION",
        "no_compression;snappy_compression;ZSTD_COMPRESSION"
      })
  void codecsOfTheLibrary_canBeUsed(String codecs) {
    checkRoundTrip(Map.of(RocksDbOptions.COMPRESSION.key(), codecs), Map.of());
  }

  @Test
  void codecThatTheLibraryHasNot_isRefusedWithThoseItHas() {
    Map<String, String> settings = Map.of(RocksDbOptions.COMPRESSION.key(), "XPRESS_COMPRESSION");
    try (TestTables tables = new TestTables(directory, settings, Metrics.NONE)) {
      assertThatThrownBy(tables::open)
          .isInstanceOf(StateBackendException.class)
          .hasMessageContaining(RocksDbOptions.COMPRESSION.key())
          .hasMessageContaining("LZ4_COMPRESSION")
          .hasMessageContaining("ZSTD_COMPRESSION")
          .satisfies(e -> assertThat(e.getMessage()).doesNotContain("XPRESS_COMPRESSION"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"UNIVERSAL", "NONE", "LEVEL"})
  void compactionStyle_canChangeFromOneRunToTheNext(String style) {
    Map<String, String> settings =
        Map.of(
            RocksDbOptions.COMPACTION_STYLE.key(), style,
            RocksDbOptions.DYNAMIC_LEVELS.key(), "false",
            RocksDbOptions.LOG_MAX_FILE_SIZE.key(), "0",
            RocksDbOptions.LOG_FILES.key(), "3",
            RocksDbOptions.LOG_DIRECTORY.key(), directory.resolve("logs").toString());
    checkRoundTrip(settings, Map.of());
    assertThat(directory.resolve("logs")).isNotEmptyDirectory();
  }
}
