package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Execution;
import io.alluvium.spi.SortedChanges;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableScan;
import io.alluvium.spi.TableSnapshot;
import io.alluvium.spi.UseGuard;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.TickerType;
import org.rocksdb.WriteOptions;

/**
 * A table in RocksDB without a write-ahead log: the changelog is the durability. Confined to the
 * task thread, except {@link #snapshot}, {@link #property}, {@link #ticker} and {@link #close} (any
 * thread) and {@link #apply} (several threads, disjoint key groups). Owns its database.
 *
 * <p>Freed native memory must never be touched: every call enters {@link UseGuard}, and an open
 * scan counts as a call. Closing waits for those who are inside, and tells RocksDB before to stop
 * its background work, so that a snapshot that waits for a flush, or a write that is stalled, ends
 * soon.
 */
final class RocksDbTable implements Table, RocksDbHost.Readings {

  private static final int NOT_FOUND = RocksDB.NOT_FOUND;

  /** Properties that RocksDB gives as text only. */
  private static final String FILES_AT_LEVEL = "rocksdb.num-files-at-level";

  private final Database database;
  private final Execution execution;
  private final Natives natives;
  private final UseGuard guard;
  private final BulkApply bulkApply;
  private final PrefixRemover prefixRemover;
  private final ReadOptions readOptions;

  /** A savepoint's scans end on a thread of their own. */
  private final Set<RocksDbScan> openScans = ConcurrentHashMap.newKeySet();

  /** The hot ones, without a detour. */
  private final RocksDB db;

  private final ColumnFamilyHandle data;
  private final WriteOptions writeOptions;

  /**
   * @param natives holds the database, which the table owns from here on
   * @param workDirectory where {@link #apply} may write files before they are taken over
   */
  RocksDbTable(
      Database database,
      Natives natives,
      Path workDirectory,
      DbSettings settings,
      Execution execution,
      Consumer<RocksDbTable> whenClosed) {
    this.database = database;
    this.execution = execution;
    this.natives = natives;
    this.db = database.db();
    this.data = database.data();
    this.writeOptions = database.writeOptions();
    this.readOptions = database.readOptions();
    this.prefixRemover = new PrefixRemover(database, natives);
    this.bulkApply = new BulkApply(database, natives, workDirectory, settings);
    this.guard =
        new UseGuard(
            "the keyed backend with its table in '" + database.directory() + "'",
            () -> {
              natives.close();
              whenClosed.accept(this);
            });
  }

  @Override
  public boolean get(byte[] key, int keyLength, ByteWriter into) {
    guard.enter();
    try {
      byte[] target = into.array();
      int size = db.get(data, readOptions, key, 0, keyLength, target, 0, target.length);
      if (size == NOT_FOUND) {
        return false;
      }
      if (size > target.length) {
        into.ensureCapacity(size);
        target = into.array();
        size = db.get(data, readOptions, key, 0, keyLength, target, 0, target.length);
      }
      into.setLength(size);
      return true;
    } catch (RocksDBException e) {
      throw failure(e, "read a value");
    } finally {
      guard.exit();
    }
  }

  @Override
  public void put(byte[] key, int keyLength, byte[] value, int valueLength) {
    guard.enter();
    try {
      db.put(data, writeOptions, key, 0, keyLength, value, 0, valueLength);
    } catch (RocksDBException e) {
      throw failure(e, "write a value");
    } finally {
      guard.exit();
    }
  }

  @Override
  public void delete(byte[] key, int keyLength) {
    guard.enter();
    try {
      db.delete(data, writeOptions, key, 0, keyLength);
    } catch (RocksDBException e) {
      throw failure(e, "delete a value");
    } finally {
      guard.exit();
    }
  }

  @Override
  public void deleteRange(byte[] prefix, int prefixLength) {
    guard.enter();
    try {
      prefixRemover.remove(prefix, prefixLength);
    } catch (RocksDBException e) {
      throw failure(e, "delete a range");
    } finally {
      guard.exit();
    }
  }

  @Override
  public void merge(byte[] key, int keyLength, byte[] operand, int operandLength) {
    guard.enter();
    try {
      db.merge(data, writeOptions, key, 0, keyLength, operand, 0, operandLength);
    } catch (RocksDBException e) {
      throw failure(e, "append to a value");
    } finally {
      guard.exit();
    }
  }

  @Override
  public TableScan scan(byte[] prefix, int prefixLength) {
    return scanFrom(prefix, prefixLength, prefix, prefixLength);
  }

  @Override
  public TableScan scanFrom(byte[] prefix, int prefixLength, byte[] from, int fromLength) {
    byte[] first = Arrays.copyOf(from, fromLength);
    byte @Nullable [] to = KeyBounds.successor(prefix, prefixLength);
    guard.enter();
    RocksDbScan scan = null;
    try {
      scan = new RocksDbScan(database, natives.sibling(), first, to, this::ended);
    } finally {
      if (scan == null) {
        guard.exit();
      }
    }
    openScans.add(scan);
    if (guard.isClosed()) {
      // Who closed the table may not have seen it.
      scan.close();
    }
    return scan;
  }

  /** The scan was inside from its beginning on. */
  private void ended(RocksDbScan scan) {
    openScans.remove(scan);
    guard.exit();
  }

  /**
   * Completes before it returns: {@code createCheckpoint} flushes by itself while the task goes on,
   * on the calling thread and RocksDB's own.
   */
  @Override
  public CompletableFuture<TableSnapshot> snapshot(Path directory) {
    try {
      return CompletableFuture.completedFuture(snapshotNow(directory));
    } catch (StateBackendException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  @Override
  public TableSnapshot snapshotNow(Path directory) {
    guard.enter();
    try {
      return SnapshotWriter.write(database, directory, guard);
    } finally {
      guard.exit();
    }
  }

  @Override
  public void apply(SortedChanges changes) {
    guard.enter();
    try {
      bulkApply.apply(changes);
    } catch (RocksDBException e) {
      throw failure(e, "apply changes");
    } finally {
      guard.exit();
    }
  }

  @Override
  public long property(String name) {
    if (!guard.tryEnter()) {
      return 0;
    }
    try {
      return name.startsWith(FILES_AT_LEVEL)
          ? Long.parseLong(db.getProperty(data, name))
          : db.getLongProperty(data, name);
    } catch (RocksDBException e) {
      throw failure(e, "read property " + name);
    } finally {
      guard.exit();
    }
  }

  @Override
  public long ticker(TickerType type) {
    if (!guard.tryEnter()) {
      return 0;
    }
    try {
      return database.statistics().map(counted -> counted.getTickerCount(type)).orElse(0L);
    } finally {
      guard.exit();
    }
  }

  Path directory() {
    return database.directory();
  }

  /** A call that closing broke off was closed, whatever RocksDB says. */
  private StateBackendException failure(RocksDBException e, String doing) {
    return guard.isClosed()
        ? guard.closedException()
        : RocksDbFailures.of(e, doing, database.directory());
  }

  @Override
  public void close() {
    if (guard.shut()) {
      try {
        openScans.forEach(RocksDbScan::close);
        db.cancelAllBackgroundWork(false);
      } finally {
        guard.exit();
      }
    }
    guard.awaitReleased(execution);
  }
}
