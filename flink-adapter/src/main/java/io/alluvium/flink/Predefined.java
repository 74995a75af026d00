package io.alluvium.flink;

import io.alluvium.StateBackendException;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;

/**
 * Flink's predefined options for RocksDB, by the part of the key behind {@code
 * state.backend.rocksdb.}; what a user gives goes before them. Immutable.
 */
final class Predefined {

  private static final Map<String, Map<String, String>> BY_NAME =
      Map.of(
          "DEFAULT",
          Map.of(),
          "SPINNING_DISK_OPTIMIZED",
          Map.of(
              "compaction.style", "LEVEL",
              "compaction.level.use-dynamic-size", "true",
              "thread.num", "4",
              "files.open", "-1"),
          "SPINNING_DISK_OPTIMIZED_HIGH_MEM",
          Map.ofEntries(
              Map.entry("block.cache-size", "256 mb"),
              Map.entry("block.blocksize", "128 kb"),
              Map.entry("compaction.level.use-dynamic-size", "true"),
              Map.entry("thread.num", "4"),
              Map.entry("compaction.level.max-size-level-base", "1 gb"),
              Map.entry("files.open", "-1"),
              Map.entry("writebuffer.count", "4"),
              Map.entry("writebuffer.number-to-merge", "3"),
              Map.entry("compaction.level.target-file-size-base", "256 mb"),
              Map.entry("writebuffer.size", "64 mb"),
              Map.entry("use-bloom-filter", "true")),
          "FLASH_SSD_OPTIMIZED",
          Map.of("thread.num", "4", "files.open", "-1"));

  private Predefined() {}

  /** The options of one of the four names. */
  static Map<String, String> of(String name) {
    Map<String, String> options = BY_NAME.get(name.trim().toUpperCase(Locale.ROOT));
    if (options == null) {
      throw StateBackendException.invalid(
          "the value '"
              + name
              + "' of '"
              + OptionTable.PREDEFINED
              + "' must be one of "
              + String.join(", ", new TreeSet<>(BY_NAME.keySet())));
    }
    return options;
  }
}
