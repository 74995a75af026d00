package io.alluvium.rocksdb;

import io.alluvium.KeyGroupRange;
import java.util.Arrays;
import java.util.List;
import org.rocksdb.RocksDBException;

/**
 * Removes the key groups outside of a range: whole files at once, the rest by a range tombstone on
 * either side. Where there is nothing to remove no tombstone is written.
 */
final class Clip {

  private Clip() {}

  static void to(Database database, KeyGroupRange keep, Natives natives) throws RocksDBException {
    remove(database, KeyBounds.FIRST, KeyBounds.bound(keep.from()), natives);
    remove(database, KeyBounds.bound(keep.to()), KeyBounds.LAST, natives);
  }

  private static void remove(Database database, byte[] from, byte[] to, Natives natives)
      throws RocksDBException {
    if (Arrays.equals(from, to) || !holdsKeys(database, from, to, natives)) {
      return;
    }
    database.db().deleteFilesInRanges(database.data(), List.of(from, to), false);
    database.db().deleteRange(database.data(), database.writeOptions(), from, to);
  }

  private static boolean holdsKeys(Database database, byte[] from, byte[] to, Natives natives) {
    try (RocksDbScan scan = new RocksDbScan(database, natives.sibling(), from, to, closed -> {})) {
      return scan.next();
    }
  }
}
