package io.alluvium.rocksdb;

import io.alluvium.config.Configuration;
import java.util.ArrayList;
import java.util.List;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompressionType;
import org.rocksdb.DBOptions;
import org.rocksdb.IndexType;

/**
 * Makes the native options of a database from the configuration and what the process shares. Only
 * calls that exist in RocksDB 8.10 and 11.8 alike. Thread-safe.
 */
final class DbSettings {

  /** RocksDB's default number of levels. */
  static final int LEVELS = 7;

  /**
   * The newest version of the file format that both RocksDB lines read (P8); never raised without a
   * new {@link RocksDbTableProvider#FORMAT}.
   */
  static final int SST_FORMAT_VERSION = 5;

  /**
   * The MANIFEST is written anew beyond this size, because each materialization uploads it whole.
   */
  private static final long MANIFEST_BYTES = 1 << 20;

  /**
   * Joins all operands of a key at once, as they are; they carry their own lengths. RocksDB's other
   * operator for this ({@code StringAppendOperator}) joins two at a time and so copies the list for
   * each append. Both read each other's files.
   */
  private static final String CONCATENATION = "id=stringappendtest;delimiter=";

  private static final long LOG_BYTES = 1 << 20;
  private static final int LOG_FILES = 2;

  private final Configuration configuration;
  private final SharedMemory memory;

  DbSettings(Configuration configuration, SharedMemory memory) {
    this.configuration = configuration;
    this.memory = memory;
  }

  /** How eagerly a database compacts. */
  enum Compaction {
    /** In the background, as a table in use does. */
    AUTOMATIC,
    /** Only when told, as a restore does on the databases that it takes apart. */
    MANUAL
  }

  long writeBatchBytes() {
    return configuration.get(RocksDbOptions.WRITE_BATCH_SIZE);
  }

  long targetFileBytes() {
    return configuration.get(RocksDbOptions.TARGET_FILE_SIZE);
  }

  DBOptions dbOptions(Natives natives) {
    DBOptions options = natives.add(new DBOptions());
    options
        .setCreateIfMissing(true)
        .setCreateMissingColumnFamilies(true)
        // What a closing table has in memory is in the changelog.
        .setAvoidFlushDuringShutdown(true)
        .setUseFsync(false)
        .setMaxOpenFiles(configuration.get(RocksDbOptions.OPEN_FILES))
        .setMaxBackgroundJobs(configuration.get(RocksDbOptions.THREADS))
        .setMaxManifestFileSize(MANIFEST_BYTES)
        .setStatsDumpPeriodSec(0)
        .setStatsPersistPeriodSec(0)
        .setInfoLogLevel(configuration.get(RocksDbOptions.LOG_LEVEL))
        .setMaxLogFileSize(LOG_BYTES)
        .setKeepLogFileNum(LOG_FILES)
        .setWriteBufferManager(memory.writeBuffers());
    return options;
  }

  ColumnFamilyOptions columnFamilyOptions(Natives natives, Compaction compaction) {
    ColumnFamilyOptions options = natives.add(new ColumnFamilyOptions());
    options
        .setMergeOperatorName(CONCATENATION)
        .setWriteBufferSize(configuration.get(RocksDbOptions.WRITE_BUFFER_SIZE))
        .setMaxWriteBufferNumber(configuration.get(RocksDbOptions.WRITE_BUFFER_COUNT))
        .setMinWriteBufferNumberToMerge(configuration.get(RocksDbOptions.WRITE_BUFFERS_TO_MERGE))
        .setArenaBlockSize(memory.arenaBlockBytes())
        .setTargetFileSizeBase(targetFileBytes())
        .setMaxBytesForLevelBase(configuration.get(RocksDbOptions.LEVEL_BASE_SIZE))
        .setNumLevels(LEVELS)
        .setCompressionPerLevel(compressionPerLevel())
        .setTableFormatConfig(tableConfig())
        .setDisableAutoCompactions(compaction == Compaction.MANUAL);
    return options;
  }

  private List<CompressionType> compressionPerLevel() {
    List<CompressionType> given = configuration.get(RocksDbOptions.COMPRESSION);
    List<CompressionType> levels = new ArrayList<>(given);
    while (levels.size() < LEVELS) {
      levels.add(given.get(given.size() - 1));
    }
    return levels;
  }

  private BlockBasedTableConfig tableConfig() {
    BlockBasedTableConfig config = new BlockBasedTableConfig();
    config
        .setFormatVersion(SST_FORMAT_VERSION)
        .setBlockCache(memory.cache())
        .setBlockSize(configuration.get(RocksDbOptions.BLOCK_SIZE))
        .setMetadataBlockSize(configuration.get(RocksDbOptions.METADATA_BLOCK_SIZE))
        // Index and filter blocks count against the one limit, too.
        .setCacheIndexAndFilterBlocks(true)
        .setCacheIndexAndFilterBlocksWithHighPriority(true)
        .setPinL0FilterAndIndexBlocksInCache(true)
        .setPinTopLevelIndexAndFilter(true);
    memory.filter().ifPresent(config::setFilterPolicy);
    if (configuration.get(RocksDbOptions.PARTITIONED_INDEX)) {
      config.setIndexType(IndexType.kTwoLevelIndexSearch).setPartitionFilters(true);
    }
    return config;
  }
}
