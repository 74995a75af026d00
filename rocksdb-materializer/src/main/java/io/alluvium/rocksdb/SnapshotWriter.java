package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import io.alluvium.spi.TableSnapshot;
import io.alluvium.spi.UseGuard;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.rocksdb.Checkpoint;
import org.rocksdb.RocksDBException;

/**
 * Writes the files of a snapshot with RocksDB's own checkpoints: hard links to the table's
 * immutable files and copies of the few others. Thread-safe.
 */
final class SnapshotWriter {

  private static final String IMMUTABLE_SUFFIX = ".sst";
  private static final String OPTIONS_PREFIX = "OPTIONS-";

  private SnapshotWriter() {}

  /** The caller is inside the guard. */
  static TableSnapshot write(Database database, Path directory, UseGuard guard) {
    Path absolute = directory.toAbsolutePath();
    if (Files.exists(absolute)) {
      throw StateBackendException.invalid(
          "the directory '" + directory + "' of a snapshot must not exist yet");
    }
    try {
      Files.createDirectories(absolute.getParent());
      try (Checkpoint checkpoint = Checkpoint.create(database.db())) {
        checkpoint.createCheckpoint(absolute.toString());
      }
      if (guard.isClosed()) {
        Directories.delete(absolute);
        throw guard.closedException();
      }
      return new TableSnapshot(directory, files(directory));
    } catch (RocksDBException e) {
      throw guard.isClosed()
          ? guard.closedException()
          : RocksDbFailures.of(e, "write a snapshot of a table", absolute);
    } catch (IOException e) {
      throw RocksDbFailures.of(e, "write a snapshot of a table", absolute);
    }
  }

  /**
   * What a restore needs. RocksDB 11 leaves an empty log file; an OPTIONS file is never read,
   * because the configuration decides, and would be one more blob for each checkpoint.
   */
  private static List<TableSnapshot.File> files(Path directory) throws IOException {
    List<TableSnapshot.File> files = new ArrayList<>();
    try (Stream<Path> entries = Files.list(directory)) {
      for (Path path : entries.sorted(Comparator.comparing(Path::getFileName)).toList()) {
        long sizeBytes = Files.size(path);
        String name = path.getFileName().toString();
        if (sizeBytes > 0 && !name.startsWith(OPTIONS_PREFIX)) {
          files.add(new TableSnapshot.File(name, path, sizeBytes, name.endsWith(IMMUTABLE_SUFFIX)));
        }
      }
    }
    return files;
  }
}
