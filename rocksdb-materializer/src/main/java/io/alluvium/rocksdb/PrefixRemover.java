package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import java.util.Arrays;
import org.rocksdb.RocksDBException;

/**
 * Removes all keys with a prefix. Thread-safe for prefixes that do not overlap.
 *
 * <p>A RocksDB range tombstone is cheap to write and dear to read: as long as it is in a write
 * buffer, the first read after each new one sorts all of them again, so that clearing 32 000 small
 * maps one after the other took 2.3 ms a map against 6 us with point tombstones (measured, 11.8.1).
 * Most prefixes are the row of one map state and hold a few keys. So up to {@value
 * #MAX_POINT_DELETES} keys are deleted one by one, and only what has more gets a range tombstone,
 * which then stands for at least that many writes.
 */
final class PrefixRemover {

  /** More keys than this are removed by a range tombstone. */
  static final int MAX_POINT_DELETES = 1_000;

  private final Database database;
  private final Natives natives;

  PrefixRemover(Database database, Natives natives) {
    this.database = database;
    this.natives = natives;
  }

  void remove(byte[] prefix, int length) throws RocksDBException {
    byte[] end = KeyBounds.successor(prefix, length);
    if (end == null) {
      throw StateBackendException.invalid(
          "a prefix to remove must hold a key group and a state id, not " + length + " bytes");
    }
    byte[] from = Arrays.copyOf(prefix, length);
    if (!removeOneByOne(from, end)) {
      database.db().deleteRange(database.data(), database.writeOptions(), from, end);
    }
  }

  /** False when there are too many; then some are gone already, which does no harm. */
  private boolean removeOneByOne(byte[] from, byte[] end) throws RocksDBException {
    try (RocksDbScan scan = new RocksDbScan(database, natives.sibling(), from, end, closed -> {})) {
      for (int count = 0; scan.next(); count++) {
        if (count == MAX_POINT_DELETES) {
          return false;
        }
        database
            .db()
            .delete(database.data(), database.writeOptions(), scan.key(), 0, scan.keyLength());
      }
      return true;
    }
  }
}
