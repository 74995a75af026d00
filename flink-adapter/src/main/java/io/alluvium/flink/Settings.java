package io.alluvium.flink;

import java.io.Serializable;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.configuration.StateChangelogOptions;

/**
 * What the user said, in the words of core's configuration. Immutable; travels with the job.
 *
 * @param core settings for core, as text by key
 * @param managedMemory whether native memory comes from the slot's managed memory
 * @param wrapped whether Flink's own changelog is on top
 */
record Settings(Map<String, String> core, boolean managedMemory, boolean wrapped)
    implements Serializable {

  private static final String ROCKSDB = "state.backend.rocksdb.";
  private static final String FIXED_PER_SLOT = ROCKSDB + "memory.fixed-per-slot";
  private static final String FIXED_PER_TM = ROCKSDB + "memory.fixed-per-tm";
  private static final String MANAGED = ROCKSDB + "memory.managed";
  static final String MEMORY = FIXED_PER_TM;

  /** Passed on to core as they are, when the user gave them. */
  private static final List<String> PASSED_ON =
      List.of(
          "dstl.dfs.compression.enabled",
          "dstl.dfs.preemptive-persist-threshold",
          "dstl.dfs.batch.persist-delay",
          "dstl.dfs.batch.persist-size-threshold",
          "dstl.dfs.upload.num-threads",
          "dstl.dfs.upload.max-in-flight",
          "dstl.dfs.upload.retry-policy",
          "dstl.dfs.upload.timeout",
          "dstl.dfs.upload.max-attempts",
          "dstl.dfs.upload.next-attempt-delay",
          "alluvium.materialize.num-threads",
          "alluvium.restore.time-objective",
          "alluvium.restore.num-threads",
          ROCKSDB + "localdir",
          ROCKSDB + "memory.write-buffer-ratio",
          ROCKSDB + "memory.high-prio-pool-ratio",
          ROCKSDB + "memory.partitioned-index-filters",
          ROCKSDB + "writebuffer.size",
          ROCKSDB + "writebuffer.count",
          ROCKSDB + "writebuffer.number-to-merge",
          ROCKSDB + "block.blocksize",
          ROCKSDB + "block.metadata-blocksize",
          ROCKSDB + "use-bloom-filter",
          ROCKSDB + "bloom-filter.bits-per-key",
          ROCKSDB + "compression.per.level",
          ROCKSDB + "compaction.level.target-file-size-base",
          ROCKSDB + "compaction.level.max-size-level-base",
          ROCKSDB + "thread.num",
          ROCKSDB + "files.open",
          ROCKSDB + "write-batch-size",
          ROCKSDB + "log.level");

  static Settings of(ReadableConfig config) {
    Map<String, String> core = new TreeMap<>();
    for (String key : PASSED_ON) {
      config.getOptional(text(key)).ifPresent(value -> core.put(key, value));
    }
    core.put("state.backend.type", config.get(AlluviumOptions.TABLE));
    core.put(
        "state.backend.changelog.enabled",
        String.valueOf(config.get(AlluviumOptions.CHANGELOG_ENABLED)));
    core.put(
        "state.backend.changelog.periodic-materialize.interval",
        millis(config.get(AlluviumOptions.MATERIALIZE_INTERVAL)));
    core.put(
        "state.backend.changelog.max-failures-allowed",
        String.valueOf(config.get(AlluviumOptions.MATERIALIZE_FAILURES_ALLOWED)));
    // Required by core; Flink's streams take its place.
    core.put("state.checkpoints.dir", "memory:flink");
    boolean fixed =
        memory(config, FIXED_PER_SLOT, core)
            || memory(config, FIXED_PER_TM, core)
            || !config
                .getOptional(ConfigOptions.key(MANAGED).booleanType().noDefaultValue())
                .orElse(true);
    return new Settings(
        Collections.unmodifiableMap(core),
        !fixed,
        config.get(StateChangelogOptions.ENABLE_STATE_CHANGE_LOG));
  }

  private static boolean memory(ReadableConfig config, String key, Map<String, String> core) {
    var size = config.getOptional(ConfigOptions.key(key).memoryType().noDefaultValue());
    size.map(MemorySize::getBytes).ifPresent(bytes -> core.put(MEMORY, bytes + " b"));
    return size.isPresent();
  }

  private static ConfigOption<String> text(String key) {
    ConfigOption<String> option = ConfigOptions.key(key).stringType().noDefaultValue();
    // Flink 2 calls the options of its own log so.
    return key.startsWith("dstl.") ? option.withFallbackKeys("state.changelog." + key) : option;
  }

  private static String millis(Duration duration) {
    return duration.toMillis() + " ms";
  }

  /** As text for core, with one more. */
  Map<String, String> with(String key, String value) {
    Map<String, String> all = new TreeMap<>(core);
    all.put(key, value);
    return all;
  }

  boolean changelogEnabled() {
    return Boolean.parseBoolean(core.get("state.backend.changelog.enabled"));
  }

  boolean onHeap() {
    return "heap".equals(core.get("state.backend.type"));
  }
}
