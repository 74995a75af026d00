package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackend;
import io.alluvium.config.Option;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.changelog.fs.FsStateChangelogOptions;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.FallbackKey;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.configuration.StateChangelogOptions;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.state.rocksdb.ConfigurableRocksDBOptionsFactory;
import org.apache.flink.state.rocksdb.PredefinedOptions;
import org.apache.flink.state.rocksdb.RocksDBConfigurableOptions;
import org.apache.flink.state.rocksdb.RocksDBNativeMetricOptions;
import org.apache.flink.state.rocksdb.RocksDBOptions;
import org.apache.flink.state.rocksdb.RocksDBOptionsFactory;
import org.apache.flink.state.rocksdb.sstmerge.RocksDBManualCompactionOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;

/** Every option that Flink's configuration can hold is followed, or named with the reason. */
final class OptionTableTest {

  private static final String PREFIX = "state.backend.rocksdb.";

  @TempDir Path directory;

  private static Set<String> keys(Class<?>... classes) throws IllegalAccessException {
    Set<String> keys = new TreeSet<>();
    for (Class<?> each : classes) {
      for (Field field : each.getFields()) {
        if (field.getType() == ConfigOption.class) {
          ConfigOption<?> option = (ConfigOption<?>) field.get(null);
          keys.add(option.key());
          for (FallbackKey fallback : option.fallbackKeys()) {
            keys.add(fallback.getKey());
          }
        }
      }
    }
    return keys;
  }

  /** Fails when Flink has an option more. */
  @Test
  void everyOptionOfFlinks_isInTheTable() throws Exception {
    Set<String> flinks =
        keys(
            RocksDBOptions.class,
            RocksDBConfigurableOptions.class,
            RocksDBNativeMetricOptions.class,
            RocksDBManualCompactionOptions.class,
            FsStateChangelogOptions.class,
            StateChangelogOptions.class,
            AlluviumOptions.class);
    assertThat(flinks).hasSizeGreaterThan(100);
    flinks.removeIf(key -> key.startsWith("state.changelog.dstl."));
    assertThat(OptionTable.known()).containsAll(flinks);
  }

  @Test
  void everyOptionOfAlluviums_isInTheTable() {
    assertThat(OptionTable.known())
        .containsAll(
            StateBackend.options().stream()
                .map(Option::key)
                .filter(key -> key.matches("(alluvium|dstl|state\\.backend\\.rocksdb)\\..*"))
                .toList());
  }

  @Test
  void page_namesEveryOption() throws IOException {
    String page = Files.readString(Path.of("../docs/flink.md"));
    for (String key : OptionTable.known()) {
      boolean ofRocksDb = key.startsWith(PREFIX) && !key.startsWith(PREFIX + "metrics.");
      if (ofRocksDb || !key.startsWith("state.")) {
        String name = key.startsWith(PREFIX) ? key.substring(PREFIX.length()) : key;
        assertThat(page).as(key).contains("`" + name + "`");
      }
    }
  }

  @Test
  void remarks_nameWhatHasNoEffect_andWhatIsMistyped() {
    Map<String, String> config =
        Map.of(
            PREFIX + "timer-service.factory",
            "HEAP",
            PREFIX + "use-ingest-db-restore-mode",
            "true",
            PREFIX + "thread.nun",
            "3",
            PREFIX + "metrics.estimate-num-keys",
            "true",
            "state.backend.rockdb.localdir",
            "/d",
            "state.backend.local-recovery",
            "true",
            "alluvium.materialise.num-threads",
            "3",
            "dstl.dfs.base-path",
            "file:///x",
            "state.changelog.dstl.dfs.upload.timeout",
            "3 s",
            "state.backend.changelog.storage",
            "filesystem");
    assertThat(OptionTable.remarks(Configuration.fromMap(config)))
        .containsExactly(
            "'alluvium.materialise.num-threads' (3) is unknown to Alluvium; did you mean"
                + " 'alluvium.materialize.num-threads'?",
            "'dstl.dfs.base-path' (file:///x) has no effect: within Flink the log is part of the"
                + " checkpoint and lies in its storage",
            "'state.backend.changelog.storage' (filesystem) has no effect: it is an option of"
                + " Flink's own changelog; Alluvium's begin with alluvium.changelog",
            "'state.backend.rockdb.localdir' (/d) is unknown to Alluvium; did you mean '"
                + PREFIX
                + "localdir'?",
            "'"
                + PREFIX
                + "thread.nun' (3) is unknown to Alluvium; did you mean '"
                + PREFIX
                + "thread.num'?",
            "'"
                + PREFIX
                + "timer-service.factory' (HEAP) has no effect: timers are kept in the"
                + " table");
  }

  @ParameterizedTest
  @EnumSource(PredefinedOptions.class)
  void predefinedOptions_areFlinks(PredefinedOptions flinks) throws Exception {
    Field field = PredefinedOptions.class.getDeclaredField("options");
    field.setAccessible(true);
    Map<?, ?> expected = (Map<?, ?>) field.get(flinks);
    Map<String, String> ours = Predefined.of(flinks.name());
    assertThat(ours).hasSameSizeAs(expected);
    for (Field each : RocksDBConfigurableOptions.class.getFields()) {
      if (each.getType() == ConfigOption.class) {
        ConfigOption<?> option = (ConfigOption<?>) each.get(null);
        String text = ours.get(option.key().substring(PREFIX.length()));
        Optional<Object> wanted = Optional.ofNullable(expected.get(option.key()));
        assertThat(Optional.ofNullable(text).map(given -> parsed(option, given)))
            .as(option.key())
            .isEqualTo(wanted);
      }
    }
  }

  private static <T> Object parsed(ConfigOption<T> option, String text) {
    return Configuration.fromMap(Map.of(option.key(), text)).get(option);
  }

  /** What RocksDB itself says about its options, as {@code name=value}. */
  private Map<String, String> optionsOf(Map<String, String> given) throws IOException {
    Map<String, String> config = new TreeMap<>(given);
    config.put(PREFIX + "localdir", directory.toString());
    Map<String, String> options = new TreeMap<>();
    try (TestKeyedBackend<Integer> backend = open(config);
        Stream<Path> files = Files.walk(directory)) {
      assertThat(backend.get()).isNotNull();
      Path file =
          files
              .filter(each -> each.getFileName().toString().startsWith("OPTIONS-"))
              .max(Path::compareTo)
              .orElseThrow();
      for (String line : Files.readAllLines(file)) {
        String[] pair = line.trim().split("=", 2);
        if (pair.length == 2) {
          options.put(pair[0], pair[1]);
        }
      }
    }
    return options;
  }

  private static TestKeyedBackend<Integer> open(Map<String, String> config) {
    return TestKeyedBackend.open(
        Configuration.fromMap(config),
        new MockEnvironmentBuilder().setManagedMemorySize(32 << 20).build(),
        new TestKeyedBackend.Parameters<>(
            IntSerializer.INSTANCE, KeyGroupRange.of(0, 1), 2, TtlTimeProvider.DEFAULT, List.of()));
  }

  @Test
  void options_reachRocksDb() throws IOException {
    Map<String, String> given = new TreeMap<>();
    given.put("thread.num", "5");
    given.put("files.open", "1000");
    given.put("log.level", "ERROR_LEVEL");
    given.put("log.max-file-size", "3mb");
    given.put("log.file-num", "6");
    given.put("log.dir", directory.resolve("logs").toString());
    given.put("compaction.style", "UNIVERSAL");
    given.put("compaction.level.use-dynamic-size", "false");
    given.put("compaction.level.target-file-size-base", "32m");
    given.put("compaction.level.max-size-level-base", "128 mb");
    given.put("compression.per.level", "NO_COMPRESSION;SNAPPY_COMPRESSION;ZSTD_COMPRESSION");
    given.put("writebuffer.size", "16 mb");
    given.put("writebuffer.count", "3");
    given.put("writebuffer.number-to-merge", "2");
    given.put("block.blocksize", "8kb");
    given.put("block.metadata-blocksize", "16 kb");
    given.put("memory.partitioned-index-filters", "true");
    Map<String, String> config = new TreeMap<>();
    given.forEach((key, value) -> config.put(PREFIX + key, value));
    assertThat(optionsOf(config))
        .containsEntry("max_background_jobs", "5")
        .containsEntry("max_open_files", "1000")
        .containsEntry("info_log_level", "ERROR_LEVEL")
        .containsEntry("max_log_file_size", String.valueOf(3 << 20))
        .containsEntry("keep_log_file_num", "6")
        .containsEntry("db_log_dir", directory.resolve("logs").toString())
        .containsEntry("compaction_style", "kCompactionStyleUniversal")
        .containsEntry("level_compaction_dynamic_level_bytes", "false")
        .containsEntry("target_file_size_base", String.valueOf(32 << 20))
        .containsEntry("max_bytes_for_level_base", String.valueOf(128 << 20))
        .containsEntry(
            "compression_per_level",
            "kNoCompression:kSnappyCompression:kZSTD:kZSTD:kZSTD:kZSTD:kZSTD")
        .containsEntry("write_buffer_size", String.valueOf(16 << 20))
        .containsEntry("max_write_buffer_number", "3")
        .containsEntry("min_write_buffer_number_to_merge", "2")
        .containsEntry("block_size", "8192")
        .containsEntry("metadata_block_size", "16384")
        .containsEntry("partition_filters", "true");
  }

  @Test
  void predefinedOptions_reachRocksDb_belowWhatTheUserGives() throws IOException {
    assertThat(
            optionsOf(
                Map.of(
                    PREFIX + "predefined-options", "SPINNING_DISK_OPTIMIZED_HIGH_MEM",
                    PREFIX + "thread.num", "3")))
        .containsEntry("max_background_jobs", "3")
        .containsEntry("block_size", String.valueOf(128 << 10))
        .containsEntry("max_bytes_for_level_base", String.valueOf(1 << 30))
        .containsEntry("min_write_buffer_number_to_merge", "3");
    assertThatThrownBy(() -> optionsOf(Map.of(PREFIX + "predefined-options", "SSD")))
        .hasStackTraceContaining("FLASH_SSD_OPTIMIZED");
  }

  /** As in public configurations: made by name, configured, applied over everything else. */
  public static final class Factory implements ConfigurableRocksDBOptionsFactory {
    private static final long serialVersionUID = 1L;
    static final List<String> CLOSED = new ArrayList<>();
    private int jobs;

    @Override
    public RocksDBOptionsFactory configure(ReadableConfig config) {
      jobs = config.get(ConfigOptions.key("test.jobs").intType().defaultValue(1));
      return this;
    }

    @Override
    public DBOptions createDBOptions(DBOptions options, Collection<AutoCloseable> handles) {
      handles.add(() -> CLOSED.add("database"));
      return options.setMaxBackgroundJobs(jobs).setCreateIfMissing(false);
    }

    @Override
    public ColumnFamilyOptions createColumnOptions(
        ColumnFamilyOptions options, Collection<AutoCloseable> handles) {
      handles.add(() -> CLOSED.add("data"));
      return options.setLevel0StopWritesTrigger(77).setMergeOperatorName("max");
    }
  }

  @Test
  void optionsFactory_goesOverTheOptions_andItsHandlesAreClosed() throws IOException {
    Factory.CLOSED.clear();
    assertThat(
            optionsOf(
                Map.of(
                    PREFIX + "options-factory",
                    Factory.class.getName(),
                    PREFIX + "thread.num",
                    "3",
                    "test.jobs",
                    "9")))
        .containsEntry("max_background_jobs", "9")
        .containsEntry("level0_stop_writes_trigger", "77")
        .containsEntry("create_if_missing", "true")
        .containsEntry("disable_auto_compactions", "false")
        .hasEntrySatisfying("merge_operator", name -> assertThat(name).contains("StringAppend"));
    assertThat(Factory.CLOSED).containsExactly("database", "data");
  }

  @Test
  void optionsFactory_thatIsNone_isRefused() {
    assertThatThrownBy(() -> optionsOf(Map.of(PREFIX + "options-factory", "java.lang.String")))
        .hasStackTraceContaining(PREFIX + "options-factory");
    assertThatThrownBy(() -> optionsOf(Map.of(PREFIX + "options-factory", "no.such.Factory")))
        .hasStackTraceContaining("no.such.Factory");
  }

  @Test
  void transferThreads_areTheTaskManagersForRestores_unlessThoseAreGiven() {
    String given = PREFIX + "checkpoint.transfer.thread.num";
    String ours = "alluvium.restore.num-threads";
    ClassLoader loader = getClass().getClassLoader();
    assertThat(Settings.of(Configuration.fromMap(Map.of(given, "20")), loader).core())
        .containsEntry(ours, "20");
    assertThat(Settings.of(Configuration.fromMap(Map.of(given, "4")), loader).core())
        .doesNotContainKey(ours);
    assertThat(Settings.of(Configuration.fromMap(Map.of(given, "20", ours, "2")), loader).core())
        .containsEntry(ours, "2");
  }
}
