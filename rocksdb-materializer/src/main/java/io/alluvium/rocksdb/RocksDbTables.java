package io.alluvium.rocksdb;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableProvider;
import io.alluvium.spi.TableScan;
import io.alluvium.spi.UseGuard;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * RocksDB tables and the memory that they share, which is all of a process unless a host shares it
 * further. Thread-safe. Owns the memory that it made; the tables keep it alive natively, so that
 * the order of closing does no harm.
 */
final class RocksDbTables implements TableProvider.Tables {

  private final Configuration configuration;
  private final Execution execution;
  private final RocksDbHost host;
  private final AtomicInteger live = new AtomicInteger();
  private final Natives natives = new Natives(live);
  private final UseGuard guard =
      new UseGuard("the state backend, and with it the RocksDB of this process,", natives::close);
  private final Set<RocksDbTable> open = ConcurrentHashMap.newKeySet();
  private final SharedMemory memory;
  private final DbSettings settings;
  private final DiskProbe diskProbe;

  RocksDbTables(
      Configuration configuration, Execution execution, Metrics metrics, RocksDbHost host) {
    this.configuration = configuration;
    this.execution = execution;
    this.host = host;
    try {
      this.memory = new SharedMemory(configuration, host, natives);
    } catch (RuntimeException | Error e) {
      natives.close();
      throw e;
    }
    this.settings = new DbSettings(configuration, memory, host);
    this.diskProbe = new DiskProbe(execution);
    registerGauges(metrics);
  }

  @Override
  public Table open(
      Path directory,
      KeyGroupRange keyGroups,
      List<TablePart> parts,
      Function<TablePart, TableScan> foreign) {
    guard.enter();
    try {
      if (Files.exists(directory.resolve(TableRestore.DATABASE))) {
        throw StateBackendException.invalid(
            "the directory '" + directory + "' of a table must be empty, but holds one already");
      }
      Files.createDirectories(directory);
      if (host.checksDisk()) {
        boolean unused = diskProbe.check(directory);
      }
      return open(directory, keyGroups, parts, foreign, natives.sibling());
    } catch (IOException e) {
      throw RocksDbFailures.of(e, "make the directory of a table", directory);
    } finally {
      guard.exit();
    }
  }

  private Table open(
      Path directory,
      KeyGroupRange keyGroups,
      List<TablePart> parts,
      Function<TablePart, TableScan> foreign,
      Natives tableNatives) {
    Database database =
        new TableRestore(settings, directory, keyGroups).open(parts, foreign, tableNatives);
    RocksDbTable table = table(database, directory, tableNatives);
    boolean done = false;
    try {
      host.opened(table);
      open.add(table);
      done = true;
      return table;
    } finally {
      if (!done) {
        // The host may have handed it to a thread that reads it.
        table.close();
      }
    }
  }

  private RocksDbTable table(Database database, Path directory, Natives tableNatives) {
    boolean done = false;
    try {
      RocksDbTable table =
          new RocksDbTable(
              database,
              tableNatives,
              directory.resolve(TableRestore.WORK),
              settings,
              execution,
              open::remove);
      done = true;
      return table;
    } finally {
      if (!done) {
        tableNatives.close();
      }
    }
  }

  @Override
  public TableScan read(TablePart part) {
    guard.enter();
    try {
      TableRestore.checkHoldsTable(part);
      Database database = Database.openReadOnly(part.directory(), settings, natives.sibling());
      try {
        return new RocksDbScan(
            database,
            natives.sibling(),
            KeyBounds.bound(part.keyGroups().from()),
            KeyBounds.bound(part.keyGroups().to()),
            closed -> database.close());
      } catch (RuntimeException | Error e) {
        database.close();
        throw e;
      }
    } catch (IOException e) {
      throw RocksDbFailures.of(e, "read a restored table", part.directory());
    } finally {
      guard.exit();
    }
  }

  private void registerGauges(Metrics metrics) {
    gauge(
        metrics, RocksDbOptions.METRIC_CACHE_CAPACITY, "cache.capacity.bytes", memory::cacheBytes);
    gauge(
        metrics,
        RocksDbOptions.METRIC_CACHE_USAGE,
        "cache.usage.bytes",
        () -> memory.cache().getUsage());
    gauge(
        metrics,
        RocksDbOptions.METRIC_CACHE_PINNED,
        "cache.pinned.bytes",
        () -> memory.cache().getPinnedUsage());
    gauge(
        metrics,
        RocksDbOptions.METRIC_TABLE_READERS,
        "table.readers.bytes",
        () -> sum("rocksdb.estimate-table-readers-mem"));
    gauge(
        metrics,
        RocksDbOptions.METRIC_MEM_TABLES,
        "memtables.bytes",
        () -> sum("rocksdb.cur-size-all-mem-tables"));
    gauge(
        metrics,
        RocksDbOptions.METRIC_LIVE_SST,
        "live.sst.bytes",
        () -> sum("rocksdb.live-sst-files-size"));
  }

  /** A gauge that reads 0 once everything is closed; it may be read at any time. */
  private void gauge(Metrics metrics, Option<Boolean> option, String name, LongSupplier value) {
    if (!configuration.get(option)) {
      return;
    }
    metrics.gauge(
        "rocksdb." + name,
        () -> {
          if (!guard.tryEnter()) {
            return 0;
          }
          try {
            return value.getAsLong();
          } finally {
            guard.exit();
          }
        });
  }

  private long sum(String property) {
    long sum = 0;
    for (RocksDbTable table : open) {
      sum += table.property(property);
    }
    return sum;
  }

  /** How many native objects are open, for the tests' audit. */
  int liveNatives() {
    return live.get();
  }

  Natives natives() {
    return natives;
  }

  DbSettings settings() {
    return settings;
  }

  @Override
  public void close() {
    var unused = guard.close();
    guard.awaitReleased(execution);
  }
}
