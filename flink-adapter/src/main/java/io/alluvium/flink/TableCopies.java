package io.alluvium.flink;

import io.alluvium.StateBackendException;
import io.alluvium.spi.LocalTableFiles;
import io.alluvium.spi.TableFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The blob store's own copies of table files, as a restore uses and makes them for Flink's local
 * recovery. Thread-safe.
 */
final class TableCopies implements LocalTableFiles {

  private static final Logger LOG = LoggerFactory.getLogger(TableCopies.class);
  private static final int BUFFER_BYTES = 1 << 16;

  private final FlinkBlobStore store;

  TableCopies(FlinkBlobStore store) {
    this.store = store;
  }

  /** A copy that is damaged goes, or a later checkpoint might store it. */
  @Override
  public Optional<Path> lookup(TableFile file) {
    Path copy = store.copyOf(file.blob());
    if (copy == null) {
      return Optional.empty();
    }
    try {
      int found = crc32c(copy);
      if (found == file.crc32c()) {
        return Optional.of(copy);
      }
      LOG.warn(
          "the local copy '{}' of blob '{}' has CRC32C {}, expected {}; the blob is read from"
              + " Flink's checkpoint storage instead",
          copy,
          file.blob(),
          Integer.toHexString(found),
          Integer.toHexString(file.crc32c()));
    } catch (IOException e) {
      LOG.warn(
          "the local copy '{}' of blob '{}' cannot be read; the blob is read from Flink's"
              + " checkpoint storage instead: {}",
          copy,
          file.blob(),
          e.toString());
    }
    store.dropCopy(file.blob());
    return Optional.empty();
  }

  private static int crc32c(Path file) throws IOException {
    CRC32C crc = new CRC32C();
    byte[] buffer = new byte[BUFFER_BYTES];
    try (InputStream in = Files.newInputStream(file)) {
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        crc.update(buffer, 0, count);
      }
    }
    return (int) crc.getValue();
  }

  @Override
  public void add(Path path, TableFile file) {
    try {
      store.keepCopy(file.blob(), path, file.immutable());
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot keep table file '" + path + "' for local recovery: " + e, e);
    }
  }

  /** Nothing: copies go with their blobs. */
  @Override
  public void retain(Collection<TableFile> files) {}
}
