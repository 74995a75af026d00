package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import java.util.Arrays;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatch;

/**
 * Removes all keys with a prefix. Thread-safe for prefixes that do not overlap.
 *
 * <p>A RocksDB range tombstone is cheap to write and dear to read: as long as it is in a write
 * buffer, the first read after each new one sorts all of them again, so that clearing 32 000 small
 * maps one after the other took 2.3 ms a map against 6 us with point tombstones (measured, 11.8.1).
 * Most prefixes are the row of one map state and hold a few keys. So up to {@value
 * #MAX_POINT_DELETES} keys are deleted one by one, and only what has more gets a range tombstone,
 * which then stands for at least that many writes.
 *
 * <p>Either way it is one write, after everything was read: a removal that fails has removed
 * nothing.
 */
final class PrefixRemover {

  /** More keys than this are removed by a range tombstone. */
  static final int MAX_POINT_DELETES = 1_000;

  /** So are keys of more bytes than this, which bounds the memory of a removal. */
  static final int MAX_POINT_DELETE_BYTES = 1 << 20;

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
    try (WriteBatch deletes = new WriteBatch()) {
      if (!collect(from, end, deletes)) {
        deletes.clear();
        deletes.deleteRange(database.data(), from, end);
      }
      if (deletes.count() > 0) {
        database.db().write(database.writeOptions(), deletes);
      }
    }
  }

  /** Collects a delete of each key; false when there are too many. */
  private boolean collect(byte[] from, byte[] end, WriteBatch deletes) throws RocksDBException {
    int bytes = 0;
    try (RocksDbScan scan = new RocksDbScan(database, natives.sibling(), from, end, closed -> {})) {
      for (int count = 0; scan.next(); count++) {
        bytes += scan.keyLength();
        if (count == MAX_POINT_DELETES || bytes > MAX_POINT_DELETE_BYTES) {
          return false;
        }
        deletes.delete(database.data(), Arrays.copyOf(scan.key(), scan.keyLength()));
      }
      return true;
    }
  }
}
