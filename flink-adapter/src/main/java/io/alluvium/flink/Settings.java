package io.alluvium.flink;

import io.alluvium.flink.rocksdb.NativeOptions;
import io.alluvium.flink.rocksdb.RocksDbMemory;
import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.ReadableConfig;

/**
 * What the user said, in the words of core's configuration. Immutable; travels with the job.
 *
 * @param core settings for core, as text by key
 * @param interval of materializations
 * @param memory where RocksDB's memory comes from
 * @param rocksDb what is said in Flink's own types
 * @param remarks about options that have no effect, a line each
 */
record Settings(
    Map<String, String> core,
    MaterializationInterval interval,
    RocksDbMemory.Wanted memory,
    NativeOptions rocksDb,
    List<String> remarks)
    implements Serializable {

  private static final String PARTITIONED =
      OptionTable.ROCKSDB + "memory.partitioned-index-filters";
  private static final String INTERVAL = "state.backend.changelog.periodic-materialize.interval";
  private static final String RESTORE_THREADS = "alluvium.restore.num-threads";
  private static final int DEFAULT_RESTORE_THREADS = 8;

  /**
   * @param classLoader finds the job's classes
   */
  static Settings of(ReadableConfig config, ClassLoader classLoader) {
    Map<String, String> core = OptionTable.forCore(config);
    MemorySize blockCache = predefined(config, core);
    adapt(config, core);
    core.put("state.backend.type", config.get(AlluviumOptions.TABLE));
    core.put(
        "state.backend.changelog.enabled",
        String.valueOf(config.get(AlluviumOptions.CHANGELOG_ENABLED)));
    MaterializationInterval interval = MaterializationInterval.of(config);
    core.put(INTERVAL, millis(interval.wanted()));
    core.put(
        "state.backend.changelog.max-failures-allowed",
        String.valueOf(config.get(AlluviumOptions.MATERIALIZE_FAILURES_ALLOWED)));
    // Required by core; Flink's streams take its place.
    core.put("state.checkpoints.dir", "memory:flink");
    return new Settings(
        Collections.unmodifiableMap(core),
        interval,
        RocksDbMemory.Wanted.of(config, blockCache.getBytes()),
        NativeOptions.of(config, classLoader),
        new ArrayList<>(OptionTable.remarks(config)));
  }

  /**
   * Adds the predefined options that the user did not give himself.
   *
   * @return the size of a block cache that is not shared, which is no setting of core's
   */
  private static MemorySize predefined(ReadableConfig config, Map<String, String> core) {
    Map<String, String> options =
        Predefined.of(
            config.get(
                ConfigOptions.key(OptionTable.PREDEFINED).stringType().defaultValue("DEFAULT")));
    options.forEach((name, value) -> core.putIfAbsent(OptionTable.ROCKSDB + name, value));
    String cache = core.remove(OptionTable.BLOCK_CACHE_SIZE);
    return config
        .getOptional(ConfigOptions.key(OptionTable.BLOCK_CACHE_SIZE).memoryType().noDefaultValue())
        .orElse(MemorySize.parse(cache == null ? "8 mb" : cache));
  }

  /** Where Flink's values mean a little more than core's. */
  private static void adapt(ReadableConfig config, Map<String, String> core) {
    // Flink then counts changes instead of bytes.
    core.remove(OptionTable.WRITE_BATCH_SIZE, "0 b");
    if (!core.containsKey(RESTORE_THREADS)) {
      config
          .getOptional(ConfigOptions.key(OptionTable.TRANSFER_THREADS).intType().noDefaultValue())
          .filter(threads -> threads > DEFAULT_RESTORE_THREADS)
          .ifPresent(threads -> core.put(RESTORE_THREADS, threads.toString()));
    }
  }

  private static String millis(Duration duration) {
    return duration.toMillis() + " ms";
  }

  /** For an operator of so many subtasks. */
  Settings ofSubtasks(int subtasks) {
    return new Settings(
        with(INTERVAL, millis(interval.of(subtasks))), interval, memory, rocksDb, remarks);
  }

  /** As text for core, with one more. */
  Map<String, String> with(String key, String value) {
    Map<String, String> all = new TreeMap<>(core);
    all.put(key, value);
    return all;
  }

  /** As text for core's RocksDB tables. */
  Map<String, String> withPartitionedIndex(boolean partitioned) {
    return with(PARTITIONED, String.valueOf(partitioned));
  }

  boolean usesManagedMemory() {
    return onRocksDb() && memory.usesManagedMemory();
  }

  boolean changelogEnabled() {
    return Boolean.parseBoolean(core.get("state.backend.changelog.enabled"));
  }

  boolean onRocksDb() {
    return "rocksdb".equals(core.get("state.backend.type"));
  }

  boolean onHeap() {
    return "heap".equals(core.get("state.backend.type"));
  }
}
