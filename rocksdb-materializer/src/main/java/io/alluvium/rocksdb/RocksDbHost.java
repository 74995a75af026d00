package io.alluvium.rocksdb;

import java.util.Collection;
import java.util.Optional;
import java.util.Set;
import org.rocksdb.Cache;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.ReadOptions;
import org.rocksdb.TickerType;
import org.rocksdb.WriteBufferManager;
import org.rocksdb.WriteOptions;

/**
 * An engine that brings RocksDB itself: memory that it shares beyond one {@code Tables}, native
 * options of its users, its own metrics. Thread-safe; everything has a default.
 *
 * <p>The methods that change options get those that the settings made and return the ones to use.
 * Native objects that these need are added to {@code handles}; they are closed in the order of
 * their addition, after the database and its options. What the table relies on is set or checked
 * afterwards, see {@link Requirements}.
 */
public interface RocksDbHost {

  /** Of a process that knows nothing of RocksDB. */
  RocksDbHost NONE = new RocksDbHost() {};

  /**
   * Native memory of the tables, owned by the host.
   *
   * @param cache of blocks
   * @param cacheBytes its capacity
   * @param writeBuffers limit of all write buffers, charged to the cache; empty: no limit, and
   *     index and filter blocks lie outside of the cache, as in a RocksDB without settings
   * @param writeBufferBytes that limit; 0 when there is none
   */
  record Memory(
      Cache cache,
      long cacheBytes,
      Optional<WriteBufferManager> writeBuffers,
      long writeBufferBytes) {}

  /** Reads what RocksDB counts in one table. Thread-safe. */
  interface Readings {

    /**
     * A property that is a number, for example {@code rocksdb.estimate-num-keys}; 0 once the table
     * is closed.
     */
    long property(String name);

    /** How often something has happened since the table was opened; 0 once it is closed. */
    long ticker(TickerType type);
  }

  /** Empty: the tables share memory of their own, as their settings say. */
  default Optional<Memory> memory() {
    return Optional.empty();
  }

  /** Whether the disk under the first table should be looked at. */
  default boolean checksDisk() {
    return true;
  }

  default DBOptions database(DBOptions options, Collection<AutoCloseable> handles) {
    return options;
  }

  default ColumnFamilyOptions columnFamily(
      ColumnFamilyOptions options, Collection<AutoCloseable> handles) {
    return options;
  }

  /** For reads of single keys. */
  default ReadOptions reads(ReadOptions options, Collection<AutoCloseable> handles) {
    return options;
  }

  default WriteOptions writes(WriteOptions options, Collection<AutoCloseable> handles) {
    return options;
  }

  /** What {@link Readings#ticker} will be asked for; counting costs a little on each access. */
  default Set<TickerType> tickers() {
    return Set.of();
  }

  /** A table was opened; called on its task's thread. */
  default void opened(Readings readings) {}
}
