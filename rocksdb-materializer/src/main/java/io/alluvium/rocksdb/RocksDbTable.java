package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Execution;
import io.alluvium.spi.SortedChanges;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableCut;
import io.alluvium.spi.TableScan;
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
import org.rocksdb.WriteOptions;

/**
 * A table in RocksDB without a write-ahead log: the changelog is the durability. Confined to the
 * task thread, except {@link #cut} (any thread), {@link #apply} (several threads, disjoint key
 * groups) and {@link #property} (any thread). Owns its database.
 *
 * <p>Freed native memory must never be touched. On the task thread a flag is enough, because {@link
 * #close} runs there, too. Whoever comes from another thread enters {@link UseGuard} first; closing
 * then waits for those who are inside. RocksDB is told to stop its background work before, so that
 * a cut that waits for a flush gives up soon.
 */
final class RocksDbTable implements Table {

  private static final int NOT_FOUND = RocksDB.NOT_FOUND;

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
    this.readOptions = natives.add(new ReadOptions());
    this.prefixRemover = new PrefixRemover(database, natives);
    this.bulkApply = new BulkApply(database, natives, workDirectory, settings);
    this.guard =
        new UseGuard(
            "the table in '" + database.directory() + "'",
            () -> {
              natives.close();
              whenClosed.accept(this);
            });
  }

  @Override
  public boolean get(byte[] key, int keyLength, ByteWriter into) {
    guard.checkOpen();
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
    }
  }

  @Override
  public void put(byte[] key, int keyLength, byte[] value, int valueLength) {
    guard.checkOpen();
    try {
      db.put(data, writeOptions, key, 0, keyLength, value, 0, valueLength);
    } catch (RocksDBException e) {
      throw failure(e, "write a value");
    }
  }

  @Override
  public void delete(byte[] key, int keyLength) {
    guard.checkOpen();
    try {
      db.delete(data, writeOptions, key, 0, keyLength);
    } catch (RocksDBException e) {
      throw failure(e, "delete a value");
    }
  }

  @Override
  public void deleteRange(byte[] prefix, int prefixLength) {
    guard.checkOpen();
    try {
      prefixRemover.remove(prefix, prefixLength);
    } catch (RocksDBException e) {
      throw failure(e, "delete a range");
    }
  }

  @Override
  public void merge(byte[] key, int keyLength, byte[] operand, int operandLength) {
    guard.checkOpen();
    try {
      db.merge(data, writeOptions, key, 0, keyLength, operand, 0, operandLength);
    } catch (RocksDBException e) {
      throw failure(e, "append to a value");
    }
  }

  @Override
  public TableScan scan(byte[] prefix, int prefixLength) {
    return scanFrom(prefix, prefixLength, prefix, prefixLength);
  }

  @Override
  public TableScan scanFrom(byte[] prefix, int prefixLength, byte[] from, int fromLength) {
    guard.checkOpen();
    byte[] first = Arrays.copyOf(from, fromLength);
    byte @Nullable [] to = KeyBounds.successor(prefix, prefixLength);
    RocksDbScan scan = new RocksDbScan(database, natives.sibling(), first, to, openScans::remove);
    openScans.add(scan);
    return scan;
  }

  /**
   * Completes before it returns: {@code createCheckpoint} flushes by itself while the task goes on,
   * on the calling thread and RocksDB's own.
   */
  @Override
  public CompletableFuture<TableCut> cut(Path directory) {
    try {
      return CompletableFuture.completedFuture(cutNow(directory));
    } catch (StateBackendException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  @Override
  public TableCut cutNow(Path directory) {
    guard.enter();
    try {
      return Cuts.write(database, directory, guard);
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

  /** A number that RocksDB keeps about the data; 0 once the table is closed. */
  long property(String name) {
    if (!guard.tryEnter()) {
      return 0;
    }
    try {
      return db.getLongProperty(data, name);
    } catch (RocksDBException e) {
      throw failure(e, "read property " + name);
    } finally {
      guard.exit();
    }
  }

  Path directory() {
    return database.directory();
  }

  private StateBackendException failure(RocksDBException e, String doing) {
    return RocksDbFailures.of(e, doing, database.directory());
  }

  @Override
  public void close() {
    if (!guard.isClosed()) {
      for (RocksDbScan scan : Set.copyOf(openScans)) {
        scan.close();
      }
      db.cancelAllBackgroundWork(false);
    }
    execution.await(guard.close());
  }
}
