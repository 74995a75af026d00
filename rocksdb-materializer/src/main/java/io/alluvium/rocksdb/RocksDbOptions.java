package io.alluvium.rocksdb;

import io.alluvium.config.Option;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.rocksdb.CompactionStyle;
import org.rocksdb.CompressionType;
import org.rocksdb.InfoLogLevel;

/** The settings of the RocksDB table, under the names that Flink users know. Immutable. */
final class RocksDbOptions {

  private static final String PREFIX = "state.backend.rocksdb.";
  private static final long KB = 1L << 10;
  private static final long MB = 1L << 20;
  private static final long GB = 1L << 30;

  static final Option<Long> MEMORY =
      Option.size(
          PREFIX + "memory.fixed-per-tm",
          "256 mb",
          4 * MB,
          1024 * GB,
          "Native memory that all RocksDB tables of the process share: block cache with index and"
              + " filter blocks, and write buffers.");

  static final Option<Double> WRITE_BUFFER_RATIO =
      Option.real(
          PREFIX + "memory.write-buffer-ratio",
          0.5,
          0.01,
          0.99,
          "Share of the memory that write buffers may take at most.");

  static final Option<Double> HIGH_PRIO_RATIO =
      Option.real(
          PREFIX + "memory.high-prio-pool-ratio",
          0.1,
          0.0,
          0.99,
          "Share of the block cache that is kept for index and filter blocks. It must leave room for"
              + " data blocks: with a write-buffer ratio r it stays below 1 - 2r / (3 - r).");

  static final Option<Boolean> PARTITIONED_INDEX =
      Option.bool(
          PREFIX + "memory.partitioned-index-filters",
          false,
          "Splits the index and filter of each file into blocks that are cached one by one; for"
              + " tables whose indexes do not fit the memory.");

  static final Option<Boolean> STRICT_LIMIT =
      Option.bool(
          PREFIX + "memory.strict-limit",
          false,
          "When true, a read that would push the block cache over its capacity fails instead of"
              + " exceeding it for a moment.");

  static final Option<Long> WRITE_BUFFER_SIZE =
      Option.size(
          PREFIX + "writebuffer.size",
          "64 mb",
          64 * KB,
          4 * GB,
          "Changes that a table gathers in memory before it writes a file; the shared memory may"
              + " make it write earlier.");

  static final Option<Integer> WRITE_BUFFER_COUNT =
      Option.integer(
          PREFIX + "writebuffer.count",
          2,
          1,
          64,
          "Write buffers of a table, the active one and those being written.");

  static final Option<Integer> WRITE_BUFFERS_TO_MERGE =
      Option.integer(
          PREFIX + "writebuffer.number-to-merge",
          1,
          1,
          64,
          "Write buffers that are merged into one file.");

  static final Option<Long> BLOCK_SIZE =
      Option.size(
          PREFIX + "block.blocksize", "4 kb", KB, 16 * MB, "Data in one block of a file, raw.");

  static final Option<Long> METADATA_BLOCK_SIZE =
      Option.size(
          PREFIX + "block.metadata-blocksize",
          "4 kb",
          KB,
          16 * MB,
          "Size of a block of a partitioned index or filter.");

  static final Option<Boolean> BLOOM_FILTER =
      Option.bool(
          PREFIX + "use-bloom-filter",
          true,
          "Writes a Bloom filter into each file, so that a read of an absent key touches few"
              + " files.");

  static final Option<Double> BLOOM_BITS =
      Option.real(
          PREFIX + "bloom-filter.bits-per-key", 10.0, 1.0, 100.0, "Size of the Bloom filter.");

  static final Option<List<CompressionType>> COMPRESSION =
      new Option<>(
          PREFIX + "compression.per.level",
          RocksDbOptions::parseCompression,
          Optional.of("LZ4_COMPRESSION"),
          false,
          "for each level, separated by ';', one of " + String.join(", ", Names.CODECS.keySet()),
          "Compression of the files, from the first level on; the last one given holds for all"
              + " deeper levels. Which of them exist depends on the RocksDB library, also of the"
              + " process that reads the files later; NO, SNAPPY and LZ4 can be relied on.");

  static final Option<CompactionStyle> COMPACTION_STYLE =
      new Option<>(
          PREFIX + "compaction.style",
          RocksDbOptions::parseCompactionStyle,
          Optional.of("LEVEL"),
          false,
          "one of " + String.join(", ", Names.STYLES.keySet()),
          "How files are merged. NONE never merges any. RocksDB's FIFO does not exist here: it"
              + " deletes the oldest state.");

  static final Option<Boolean> DYNAMIC_LEVELS =
      Option.bool(
          PREFIX + "compaction.level.use-dynamic-size",
          true,
          "Whether the sizes of the levels follow the size of the last one, which wastes less space"
              + " on overwritten values.");

  static final Option<Long> TARGET_FILE_SIZE =
      Option.size(
          PREFIX + "compaction.level.target-file-size-base",
          "64 mb",
          64 * KB,
          16 * GB,
          "Size of the files that compaction writes.");

  static final Option<Long> LEVEL_BASE_SIZE =
      Option.size(
          PREFIX + "compaction.level.max-size-level-base",
          "256 mb",
          MB,
          1024 * GB,
          "Size of the first sorted level before compaction moves it on.");

  static final Option<Integer> THREADS =
      Option.integer(
          PREFIX + "thread.num",
          2,
          1,
          256,
          "Flushes and compactions at the same time; the threads are shared by all tables.");

  static final Option<Integer> OPEN_FILES =
      Option.integer(
          PREFIX + "files.open",
          -1,
          -1,
          Integer.MAX_VALUE,
          "Files that a table keeps open; -1 for all of them.");

  static final Option<Long> WRITE_BATCH_SIZE =
      Option.size(
          PREFIX + "write-batch-size",
          "1 mb",
          64 * KB,
          64 * MB,
          "Changes that a restore writes in one batch.");

  static final Option<InfoLogLevel> LOG_LEVEL =
      new Option<>(
          PREFIX + "log.level",
          RocksDbOptions::parseLogLevel,
          Optional.of("WARN_LEVEL"),
          false,
          "one of " + String.join(", ", Names.LOG_LEVELS.keySet()),
          "What RocksDB writes to its own LOG file beside the table.");

  static final Option<Long> LOG_MAX_FILE_SIZE =
      Option.size(
          PREFIX + "log.max-file-size",
          "1 mb",
          0,
          GB,
          "Size at which RocksDB begins a new LOG file. 0: never.");

  static final Option<Integer> LOG_FILES =
      Option.integer(PREFIX + "log.file-num", 2, 1, 1000, "LOG files that RocksDB keeps.");

  static final Option<String> LOG_DIRECTORY =
      Option.text(
          PREFIX + "log.dir",
          "",
          "Where RocksDB puts its LOG files, under names that hold the table's directory; they"
              + " outlive the table. Empty: beside the table, with which they go.");

  static final Option<Boolean> METRIC_CACHE_CAPACITY =
      metric("block-cache-capacity", "the capacity of the shared block cache in bytes");
  static final Option<Boolean> METRIC_CACHE_USAGE =
      metric("block-cache-usage", "the bytes in the shared block cache");
  static final Option<Boolean> METRIC_CACHE_PINNED =
      metric("block-cache-pinned-usage", "the bytes pinned in the shared block cache");
  static final Option<Boolean> METRIC_TABLE_READERS =
      metric("estimate-table-readers-mem", "the memory of open files outside the block cache");
  static final Option<Boolean> METRIC_MEM_TABLES =
      metric("cur-size-all-mem-tables", "the bytes in write buffers");
  static final Option<Boolean> METRIC_LIVE_SST =
      metric("live-sst-files-size", "the bytes of the tables' files");

  static final List<Option<?>> ALL =
      List.of(
          MEMORY,
          WRITE_BUFFER_RATIO,
          HIGH_PRIO_RATIO,
          PARTITIONED_INDEX,
          STRICT_LIMIT,
          WRITE_BUFFER_SIZE,
          WRITE_BUFFER_COUNT,
          WRITE_BUFFERS_TO_MERGE,
          BLOCK_SIZE,
          METADATA_BLOCK_SIZE,
          BLOOM_FILTER,
          BLOOM_BITS,
          COMPRESSION,
          COMPACTION_STYLE,
          DYNAMIC_LEVELS,
          TARGET_FILE_SIZE,
          LEVEL_BASE_SIZE,
          THREADS,
          OPEN_FILES,
          WRITE_BATCH_SIZE,
          LOG_LEVEL,
          LOG_MAX_FILE_SIZE,
          LOG_FILES,
          LOG_DIRECTORY,
          METRIC_CACHE_CAPACITY,
          METRIC_CACHE_USAGE,
          METRIC_CACHE_PINNED,
          METRIC_TABLE_READERS,
          METRIC_MEM_TABLES,
          METRIC_LIVE_SST);

  private RocksDbOptions() {}

  private static Option<Boolean> metric(String name, String what) {
    return Option.bool(
        PREFIX + "metrics." + name,
        true,
        "Registers a gauge with " + what + "; it costs nothing until somebody reads it.");
  }

  private static List<CompressionType> parseCompression(String text) {
    List<CompressionType> levels =
        Arrays.stream(text.split(";", -1)).map(level -> named(Names.CODECS, level)).toList();
    if (levels.size() > Requirements.LEVELS) {
      throw new IllegalArgumentException("must name at most " + Requirements.LEVELS + " levels");
    }
    return levels;
  }

  private static InfoLogLevel parseLogLevel(String text) {
    return named(Names.LOG_LEVELS, text);
  }

  private static CompactionStyle parseCompactionStyle(String text) {
    return named(Names.STYLES, text);
  }

  private static <T> T named(Map<String, T> byName, String text) {
    T value = byName.get(text.trim().toUpperCase(Locale.ROOT));
    if (value == null) {
      throw new IllegalArgumentException("must be one of " + String.join(", ", byName.keySet()));
    }
    return value;
  }

  /** Apart from the options, because those are made before it. */
  private static final class Names {
    static final Map<String, InfoLogLevel> LOG_LEVELS =
        new TreeMap<>(
            Map.of(
                "DEBUG_LEVEL", InfoLogLevel.DEBUG_LEVEL,
                "INFO_LEVEL", InfoLogLevel.INFO_LEVEL,
                "WARN_LEVEL", InfoLogLevel.WARN_LEVEL,
                "ERROR_LEVEL", InfoLogLevel.ERROR_LEVEL,
                "FATAL_LEVEL", InfoLogLevel.FATAL_LEVEL,
                "HEADER_LEVEL", InfoLogLevel.HEADER_LEVEL));

    static final Map<String, CompressionType> CODECS =
        new TreeMap<>(
            Map.of(
                "NO_COMPRESSION", CompressionType.NO_COMPRESSION,
                "SNAPPY_COMPRESSION", CompressionType.SNAPPY_COMPRESSION,
                "ZLIB_COMPRESSION", CompressionType.ZLIB_COMPRESSION,
                "BZLIB2_COMPRESSION", CompressionType.BZLIB2_COMPRESSION,
                "LZ4_COMPRESSION", CompressionType.LZ4_COMPRESSION,
                "LZ4HC_COMPRESSION", CompressionType.LZ4HC_COMPRESSION,
                "XPRESS_COMPRESSION", CompressionType.XPRESS_COMPRESSION,
                "ZSTD_COMPRESSION", CompressionType.ZSTD_COMPRESSION));

    static final Map<String, CompactionStyle> STYLES =
        new TreeMap<>(
            Map.of(
                "LEVEL", CompactionStyle.LEVEL,
                "UNIVERSAL", CompactionStyle.UNIVERSAL,
                "NONE", CompactionStyle.NONE));
  }
}
