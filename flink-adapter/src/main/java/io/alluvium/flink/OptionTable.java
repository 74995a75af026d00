package io.alluvium.flink;

import io.alluvium.config.Configuration;
import io.alluvium.flink.rocksdb.NativeOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.ReadableConfig;

/**
 * Every option under a prefix of Alluvium's or of Flink's state backends: passed on to core, read
 * here, or without effect, with the reason. What is in none of these is unknown. Immutable.
 */
final class OptionTable {

  static final String ROCKSDB = "state.backend.rocksdb.";
  static final String BLOCK_CACHE_SIZE = ROCKSDB + "block.cache-size";
  static final String PREDEFINED = ROCKSDB + "predefined-options";
  static final String TRANSFER_THREADS = ROCKSDB + "checkpoint.transfer.thread.num";
  static final String WRITE_BATCH_SIZE = ROCKSDB + "write-batch-size";
  private static final String DSTL = "dstl.dfs.";

  /** Flink 2 calls the options of its own log so. */
  private static final String NEW_NAME = "state.changelog.";

  /** All keys that start so are in this table, or are a mistake. */
  private static final List<String> PREFIXES =
      List.of("state.backend.", "state.changelog.", "alluvium.", "dstl.");

  /** Flink's own options under these prefixes, which mean what they mean everywhere. */
  private static final List<String> FLINKS =
      List.of(
          "state.backend.type",
          "state.backend.local-recovery",
          "state.backend.fs.",
          "state.backend.latency-track.");

  /** How Flink writes a value; core gets it in its own words. */
  private enum Type {
    TEXT {
      @Override
      ConfigOption<?> option(String key) {
        return ConfigOptions.key(key).stringType().noDefaultValue();
      }
    },
    SIZE {
      @Override
      ConfigOption<?> option(String key) {
        return ConfigOptions.key(key).memoryType().noDefaultValue();
      }
    },
    DURATION {
      @Override
      ConfigOption<?> option(String key) {
        return ConfigOptions.key(key).durationType().noDefaultValue();
      }
    },
    LIST {
      @Override
      ConfigOption<?> option(String key) {
        return ConfigOptions.key(key).stringType().asList().noDefaultValue();
      }
    };

    abstract ConfigOption<?> option(String key);
  }

  private static String inCoresWords(Object value) {
    if (value instanceof MemorySize size) {
      return size.getBytes() + " b";
    }
    if (value instanceof Duration duration) {
      return duration.toMillis() + " ms";
    }
    if (value instanceof List<?> list) {
      return String.join(";", list.stream().map(Object::toString).toList());
    }
    return value.toString();
  }

  /** What to say about an option, and the values with which nobody expects one. */
  private record NoEffect(String reason, Set<String> harmless) {}

  private static final Map<String, Type> PASSED_ON = passedOn();
  private static final Set<String> READ_HERE = readHere();
  private static final Map<String, NoEffect> NO_EFFECT = noEffect();

  private OptionTable() {}

  private static Map<String, Type> passedOn() {
    Map<String, Type> keys = new LinkedHashMap<>();
    keys.put(DSTL + "compression.enabled", Type.TEXT);
    keys.put(DSTL + "preemptive-persist-threshold", Type.SIZE);
    keys.put(DSTL + "batch.persist-delay", Type.DURATION);
    keys.put(DSTL + "batch.persist-size-threshold", Type.SIZE);
    keys.put(DSTL + "upload.num-threads", Type.TEXT);
    keys.put(DSTL + "upload.max-in-flight", Type.SIZE);
    keys.put(DSTL + "upload.retry-policy", Type.TEXT);
    keys.put(DSTL + "upload.timeout", Type.DURATION);
    keys.put(DSTL + "upload.max-attempts", Type.TEXT);
    keys.put(DSTL + "upload.next-attempt-delay", Type.DURATION);
    keys.put("alluvium.materialize.num-threads", Type.TEXT);
    keys.put("alluvium.materialize.smoothing", Type.TEXT);
    keys.put("alluvium.materialize.max-bandwidth", Type.SIZE);
    keys.put("alluvium.restore.time-objective", Type.DURATION);
    keys.put("alluvium.restore.num-threads", Type.TEXT);
    keys.put(ROCKSDB + "localdir", Type.TEXT);
    keys.put(ROCKSDB + "memory.partitioned-index-filters", Type.TEXT);
    keys.put(ROCKSDB + "writebuffer.size", Type.SIZE);
    keys.put(ROCKSDB + "writebuffer.count", Type.TEXT);
    keys.put(ROCKSDB + "writebuffer.number-to-merge", Type.TEXT);
    keys.put(ROCKSDB + "block.blocksize", Type.SIZE);
    keys.put(ROCKSDB + "block.metadata-blocksize", Type.SIZE);
    keys.put(ROCKSDB + "use-bloom-filter", Type.TEXT);
    keys.put(ROCKSDB + "bloom-filter.bits-per-key", Type.TEXT);
    keys.put(ROCKSDB + "compression.per.level", Type.LIST);
    keys.put(ROCKSDB + "compaction.style", Type.TEXT);
    keys.put(ROCKSDB + "compaction.level.use-dynamic-size", Type.TEXT);
    keys.put(ROCKSDB + "compaction.level.target-file-size-base", Type.SIZE);
    keys.put(ROCKSDB + "compaction.level.max-size-level-base", Type.SIZE);
    keys.put(ROCKSDB + "thread.num", Type.TEXT);
    keys.put(ROCKSDB + "files.open", Type.TEXT);
    keys.put(WRITE_BATCH_SIZE, Type.SIZE);
    keys.put(ROCKSDB + "log.level", Type.TEXT);
    keys.put(ROCKSDB + "log.max-file-size", Type.SIZE);
    keys.put(ROCKSDB + "log.file-num", Type.TEXT);
    keys.put(ROCKSDB + "log.dir", Type.TEXT);
    return keys;
  }

  private static Set<String> readHere() {
    Set<String> keys = new TreeSet<>(NativeOptions.metricKeys());
    keys.addAll(
        List.of(
            AlluviumOptions.TABLE.key(),
            AlluviumOptions.CHANGELOG_ENABLED.key(),
            AlluviumOptions.MATERIALIZE_INTERVAL.key(),
            AlluviumOptions.MAX_PIECES.key(),
            AlluviumOptions.MATERIALIZE_FAILURES_ALLOWED.key(),
            ROCKSDB + "memory.managed",
            ROCKSDB + "memory.fixed-per-slot",
            ROCKSDB + "memory.fixed-per-tm",
            ROCKSDB + "memory.write-buffer-ratio",
            ROCKSDB + "memory.high-prio-pool-ratio",
            BLOCK_CACHE_SIZE,
            TRANSFER_THREADS,
            PREDEFINED,
            ROCKSDB + "options-factory"));
    return keys;
  }

  private static Map<String, NoEffect> noEffect() {
    Map<String, NoEffect> keys = new TreeMap<>();
    put(keys, "timers are kept in the table", "rocksdb", ROCKSDB + "timer-service.factory");
    put(
        keys,
        "timers are read in order, without a cache",
        "",
        ROCKSDB + "timer-service.cache-size");
    put(
        keys,
        "materializations are spread over their interval, see alluvium.materialize.smoothing",
        "0",
        ROCKSDB + "checkpoint.upload-jitter");
    put(
        keys,
        "RocksDB has no such filter any more",
        "false",
        ROCKSDB + "bloom-filter.block-based-mode");
    put(
        keys,
        "a rescale clips and imports the files of all parents",
        "",
        ROCKSDB + "restore-overlap-fraction-threshold");
    put(
        keys,
        "the memory is shared with other operators, whose reads would fail",
        "false",
        ROCKSDB + "memory.strict-limit");
    put(keys, "files are always imported", "true", ROCKSDB + "use-ingest-db-restore-mode");
    put(
        keys,
        "a restore leaves nothing outside of the key groups that would have to be compacted",
        "false",
        ROCKSDB + "incremental-restore-async-compact-after-rescale",
        ROCKSDB + "rescaling.use-delete-files-in-range");
    put(
        keys,
        "expired state is not removed by a compaction filter",
        "",
        ROCKSDB + "compaction.filter.query-time-after-num-entries",
        ROCKSDB + "compaction.filter.periodic-compaction-time");
    put(
        keys,
        "all states of an operator are one column family, which RocksDB compacts by itself",
        "0",
        ROCKSDB + "manual-compaction.min-interval",
        ROCKSDB + "manual-compaction.max-parallel-compactions",
        ROCKSDB + "manual-compaction.max-file-size-to-compact",
        ROCKSDB + "manual-compaction.min-files-to-compact",
        ROCKSDB + "manual-compaction.max-files-to-compact",
        ROCKSDB + "manual-compaction.max-output-file-size",
        ROCKSDB + "manual-compaction.max-auto-compactions");
    put(
        keys,
        "within Flink the log is part of the checkpoint and lies in its storage",
        "",
        DSTL + "base-path",
        DSTL + "discard.num-threads",
        DSTL + "upload.buffer-size",
        DSTL + "download.local-cache.idle-timeout-ms");
    put(
        keys,
        "within Flink its JobManager keeps and commits the checkpoints, through its file systems",
        "",
        "alluvium.checkpoint.commit-timeout",
        "alluvium.fencing",
        "alluvium.hedge.max-percent",
        "alluvium.restore.fallback");
    put(
        keys,
        "checkpoints of Alluvium are always incremental",
        "true",
        "state.backend.incremental");
    for (String name :
        List.of(
            "periodic-materialize.enabled",
            "periodic-materialize.interval",
            "max-failures-allowed",
            "storage")) {
      put(
          keys,
          "it is an option of Flink's own changelog; Alluvium's begin with alluvium.changelog",
          "",
          "state.changelog." + name,
          "state.backend.changelog." + name);
    }
    String wrapped =
        "puts Flink's own changelog on top of Alluvium, which logs every change itself; set it to"
            + " false, Alluvium's own switch is '"
            + AlluviumOptions.CHANGELOG_ENABLED.key()
            + "'";
    for (String name : List.of("state.changelog.enabled", "state.backend.changelog.enabled")) {
      keys.put(name, new NoEffect(wrapped, Set.of("false")));
    }
    return keys;
  }

  private static void put(
      Map<String, NoEffect> keys, String reason, String harmless, String... names) {
    for (String name : names) {
      keys.put(name, new NoEffect("has no effect: " + reason, Set.of(harmless)));
    }
  }

  /** What core reads, in its own words. */
  static Map<String, String> forCore(ReadableConfig config) {
    Map<String, String> core = new TreeMap<>();
    PASSED_ON.forEach(
        (key, type) -> {
          ConfigOption<?> option = type.option(key);
          ConfigOption<?> named =
              key.startsWith(DSTL) ? option.withFallbackKeys(NEW_NAME + key) : option;
          config.getOptional(named).ifPresent(value -> core.put(key, inCoresWords(value)));
        });
    return core;
  }

  /** A line for each option that was given and has no effect, or that nobody knows. */
  static List<String> remarks(ReadableConfig config) {
    List<String> remarks = new ArrayList<>();
    new TreeMap<>(config.toMap())
        .forEach(
            (given, value) -> {
              if (PREFIXES.stream().anyMatch(given::startsWith)
                  && FLINKS.stream().noneMatch(given::startsWith)) {
                String remark = remark(given, value);
                if (!remark.isEmpty()) {
                  remarks.add("'" + given + "' (" + value + ") " + remark);
                }
              }
            });
    return remarks;
  }

  private static String remark(String given, String value) {
    String key = given.startsWith(NEW_NAME + DSTL) ? given.substring(NEW_NAME.length()) : given;
    if (PASSED_ON.containsKey(key) || READ_HERE.contains(key)) {
      return "";
    }
    NoEffect noEffect = NO_EFFECT.get(key);
    if (noEffect == null) {
      return "is unknown to Alluvium" + Configuration.suggestion(given, known());
    }
    boolean harmless = noEffect.harmless().contains(value.trim().toLowerCase(Locale.ROOT));
    return harmless ? "" : noEffect.reason();
  }

  /** Every key of this table. */
  static Set<String> known() {
    Set<String> keys = new TreeSet<>(PASSED_ON.keySet());
    keys.addAll(READ_HERE);
    keys.addAll(NO_EFFECT.keySet());
    return keys;
  }
}
