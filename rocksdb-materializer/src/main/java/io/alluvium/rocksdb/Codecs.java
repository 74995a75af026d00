package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.rocksdb.CompressionType;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** Which codecs the loaded library was built with. Thread-safe. */
final class Codecs {

  private Codecs() {}

  /** Whether RocksDB refused to open a table because of its codec. */
  static boolean isMissing(RocksDBException e) {
    String message = e.getMessage();
    return message != null && message.contains("is not linked");
  }

  /** The error for a codec that is not there; finds out which are, by trying each. */
  static StateBackendException missing(RocksDBException e, Path directory) {
    return StateBackendException.invalid(
        "'"
            + RocksDbOptions.COMPRESSION.key()
            + "' names a codec that the RocksDB library of this process has not: "
            + e.getMessage()
            + "; it has "
            + String.join(", ", available(directory.resolveSibling("codecs"))));
  }

  static Set<String> available(Path directory) {
    Set<String> available = new TreeSet<>();
    for (CompressionType type : CompressionType.values()) {
      if (type != CompressionType.DISABLE_COMPRESSION_OPTION && opens(type, directory)) {
        available.add(type.name());
      }
    }
    return available;
  }

  private static boolean opens(CompressionType type, Path directory) {
    try {
      Files.createDirectories(directory);
      try (Options options = new Options().setCreateIfMissing(true).setCompressionType(type);
          RocksDB db = RocksDB.open(options, directory.toString())) {
        return db.isOwningHandle();
      } finally {
        Directories.delete(directory);
      }
    } catch (RocksDBException | IOException e) {
      return false;
    }
  }
}
