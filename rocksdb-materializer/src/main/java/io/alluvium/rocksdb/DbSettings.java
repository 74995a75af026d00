package io.alluvium.rocksdb;

import io.alluvium.config.Configuration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.rocksdb.AbstractNativeReference;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompressionType;
import org.rocksdb.DBOptions;
import org.rocksdb.IndexType;
import org.rocksdb.ReadOptions;
import org.rocksdb.Statistics;
import org.rocksdb.WriteOptions;

/**
 * Makes the native options of a database from the configuration and what the process shares. Only
 * calls that exist in RocksDB 8.10 and 11.8 alike. Thread-safe.
 */
final class DbSettings {

  /**
   * The MANIFEST is written anew beyond this size, because each materialization uploads it whole.
   */
  private static final long MANIFEST_BYTES = 1 << 20;

  private final Configuration configuration;
  private final SharedMemory memory;
  private final RocksDbHost host;

  DbSettings(Configuration configuration, SharedMemory memory, RocksDbHost host) {
    this.configuration = configuration;
    this.memory = memory;
    this.host = host;
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

  /**
   * @param handles for the host; closed after the options
   */
  DBOptions dbOptions(Natives natives, Collection<AutoCloseable> handles) {
    DBOptions made = natives.add(new DBOptions());
    made.setUseFsync(false)
        .setMaxOpenFiles(configuration.get(RocksDbOptions.OPEN_FILES))
        .setMaxBackgroundJobs(configuration.get(RocksDbOptions.THREADS))
        .setMaxManifestFileSize(MANIFEST_BYTES)
        .setStatsDumpPeriodSec(0)
        .setStatsPersistPeriodSec(0)
        .setInfoLogLevel(configuration.get(RocksDbOptions.LOG_LEVEL))
        .setMaxLogFileSize(configuration.get(RocksDbOptions.LOG_MAX_FILE_SIZE))
        .setKeepLogFileNum(configuration.get(RocksDbOptions.LOG_FILES))
        .setDbLogDir(configuration.get(RocksDbOptions.LOG_DIRECTORY));
    DBOptions options = owned(made, host.database(made, handles), natives);
    Requirements.apply(options);
    memory.writeBuffers().ifPresent(options::setWriteBufferManager);
    return options;
  }

  /**
   * @param handles for the host; closed after the options
   */
  ColumnFamilyOptions columnFamilyOptions(
      Natives natives, Collection<AutoCloseable> handles, Compaction compaction) {
    ColumnFamilyOptions made = natives.add(new ColumnFamilyOptions());
    made.setWriteBufferSize(configuration.get(RocksDbOptions.WRITE_BUFFER_SIZE))
        .setMaxWriteBufferNumber(configuration.get(RocksDbOptions.WRITE_BUFFER_COUNT))
        .setMinWriteBufferNumberToMerge(configuration.get(RocksDbOptions.WRITE_BUFFERS_TO_MERGE))
        .setArenaBlockSize(memory.arenaBlockBytes())
        .setTargetFileSizeBase(targetFileBytes())
        .setMaxBytesForLevelBase(configuration.get(RocksDbOptions.LEVEL_BASE_SIZE))
        .setNumLevels(Requirements.LEVELS)
        .setCompactionStyle(configuration.get(RocksDbOptions.COMPACTION_STYLE))
        .setLevelCompactionDynamicLevelBytes(configuration.get(RocksDbOptions.DYNAMIC_LEVELS))
        .setCompressionPerLevel(compressionPerLevel())
        .setTableFormatConfig(tableConfig());
    ColumnFamilyOptions options = owned(made, host.columnFamily(made, handles), natives);
    Requirements.apply(options);
    options.setTableFormatConfig(inSharedMemory(Requirements.tableConfig(options)));
    if (compaction == Compaction.MANUAL) {
      options.setDisableAutoCompactions(true);
    }
    return options;
  }

  /** For tables that are written; never with a write-ahead log. */
  WriteOptions writeOptions(Natives natives, Collection<AutoCloseable> handles) {
    WriteOptions made = natives.add(new WriteOptions());
    Requirements.apply(made);
    WriteOptions options = owned(made, host.writes(made, handles), natives);
    Requirements.apply(options);
    return options;
  }

  /** For single keys; a scan adds its bounds to a copy. */
  ReadOptions readOptions(Natives natives, Collection<AutoCloseable> handles) {
    ReadOptions made = natives.add(new ReadOptions());
    ReadOptions options = owned(made, host.reads(made, handles), natives);
    Requirements.apply(options);
    return options;
  }

  Optional<Statistics> statistics(Natives natives) {
    return host.tickers().isEmpty() ? Optional.empty() : Optional.of(natives.add(new Statistics()));
  }

  /** A host may answer with an object of its own in the place of the one it was given. */
  private static <T extends AbstractNativeReference> T owned(T made, T changed, Natives natives) {
    return changed == made ? made : natives.add(changed);
  }

  private List<CompressionType> compressionPerLevel() {
    List<CompressionType> given = configuration.get(RocksDbOptions.COMPRESSION);
    List<CompressionType> levels = new ArrayList<>(given);
    while (levels.size() < Requirements.LEVELS) {
      levels.add(given.get(given.size() - 1));
    }
    return levels;
  }

  private BlockBasedTableConfig tableConfig() {
    BlockBasedTableConfig config = new BlockBasedTableConfig();
    config
        .setBlockSize(configuration.get(RocksDbOptions.BLOCK_SIZE))
        .setMetadataBlockSize(configuration.get(RocksDbOptions.METADATA_BLOCK_SIZE));
    memory.filter().ifPresent(config::setFilterPolicy);
    if (configuration.get(RocksDbOptions.PARTITIONED_INDEX)) {
      config.setIndexType(IndexType.kTwoLevelIndexSearch).setPartitionFilters(true);
    }
    return config;
  }

  private BlockBasedTableConfig inSharedMemory(BlockBasedTableConfig config) {
    config.setNoBlockCache(false).setBlockCache(memory.cache());
    if (memory.writeBuffers().isPresent()) {
      // Index and filter blocks count against the one limit, too.
      config
          .setCacheIndexAndFilterBlocks(true)
          .setCacheIndexAndFilterBlocksWithHighPriority(true)
          .setPinL0FilterAndIndexBlocksInCache(true)
          .setPinTopLevelIndexAndFilter(true);
    }
    return config;
  }
}
