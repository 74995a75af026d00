package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BuiltinComparator;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactionStyle;
import org.rocksdb.DBOptions;
import org.rocksdb.ReadOptions;
import org.rocksdb.WriteOptions;

/**
 * What a table relies on whatever a {@link RocksDbHost} does to its options: set where that is
 * harmless, otherwise refused before a database is opened. Thread-safe.
 */
final class Requirements {

  /** RocksDB's default number of levels, which every table has, so that all can be joined. */
  static final int LEVELS = 7;

  /**
   * The newest version of the file format that both RocksDB lines read (P8); never raised without a
   * new {@link RocksDbTableProvider#FORMAT}.
   */
  static final int SST_FORMAT_VERSION = 5;

  /**
   * Joins all operands of a key at once, as they are; they carry their own lengths. RocksDB's other
   * operator for this ({@code StringAppendOperator}) joins two at a time and so copies the list for
   * each append. Both read each other's files.
   */
  private static final String CONCATENATION = "id=stringappendtest;delimiter=";

  private Requirements() {}

  static void apply(DBOptions options) {
    if (!options.dbPaths().isEmpty()) {
      throw refused("paths of its own for the database", "its files lie in the table's directory");
    }
    options
        .setCreateIfMissing(true)
        .setCreateMissingColumnFamilies(true)
        // What a closing table has in memory is in the changelog.
        .setAvoidFlushDuringShutdown(true);
  }

  static void apply(ColumnFamilyOptions options) {
    if (options.compactionStyle() == CompactionStyle.FIFO) {
      throw refused("compaction style FIFO", "it deletes the oldest state");
    }
    if (options.compactionFilter() != null || options.compactionFilterFactory() != null) {
      throw refused("a compaction filter", "what it removes would come back with a restore");
    }
    if (!options.cfPaths().isEmpty()) {
      throw refused("paths of its own for the data", "its files lie in the table's directory");
    }
    options
        .setMergeOperatorName(CONCATENATION)
        .setComparator(BuiltinComparator.BYTEWISE_COMPARATOR)
        .setNumLevels(LEVELS)
        // A scan shows the table as it was when it was opened.
        .setInplaceUpdateSupport(false);
  }

  /** The table format of changed options, for what has to be set in it. */
  static BlockBasedTableConfig tableConfig(ColumnFamilyOptions options) {
    if (options.tableFormatConfig() instanceof BlockBasedTableConfig config) {
      return config.setFormatVersion(SST_FORMAT_VERSION);
    }
    throw refused(
        "another table format than BlockBasedTableConfig", "snapshots and imports need that");
  }

  static void apply(WriteOptions options) {
    // The changelog is the durability.
    options.setDisableWAL(true).setSync(false);
  }

  @SuppressWarnings("deprecation") // a host may still use what is deprecated
  static void apply(ReadOptions options) {
    options
        .setTotalOrderSeek(true)
        .setPrefixSameAsStart(false)
        .setIgnoreRangeDeletions(false)
        .setTailing(false);
  }

  private static StateBackendException refused(String what, String why) {
    return StateBackendException.invalid(
        "a table of Alluvium cannot have "
            + what
            + ": "
            + why
            + "; remove it from the factory of RocksDB options");
  }
}
