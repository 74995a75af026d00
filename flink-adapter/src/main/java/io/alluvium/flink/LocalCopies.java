package io.alluvium.flink;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Local files that hold copies of blobs, one directory of them. Immutable. */
final class LocalCopies {

  private static final Logger LOG = LoggerFactory.getLogger(LocalCopies.class);

  private final Path directory;

  /** Made when the first copy comes. */
  LocalCopies(Path directory) {
    this.directory = directory;
  }

  /** A name for a blob in a local directory. */
  static String nameOf(BlobName blob) {
    return blob.incarnation() + "-" + Long.toHexString(blob.counter()) + "." + blob.kind().suffix();
  }

  /** Writes a copy that appears as a whole; who reads the one before goes on reading that. */
  Path write(BlobName blob, byte[] bytes) {
    Path file = directory.resolve(nameOf(blob));
    try {
      Files.createDirectories(directory);
      Path unfinished = Files.write(Files.createTempFile(directory, "copy-", ".tmp"), bytes);
      return Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot keep blob '" + blob + "' in '" + file + "': " + e, e);
    }
  }

  /** Keeps a file, by a hard link if that goes, in the place of an earlier copy. */
  Path keep(BlobName blob, Path source) throws IOException {
    Path file = Files.createDirectories(directory).resolve(nameOf(blob));
    Files.deleteIfExists(file);
    linkOrCopy(source, file);
    return file;
  }

  static void linkOrCopy(Path source, Path target) throws IOException {
    try {
      Files.createLink(target, source);
    } catch (IOException | UnsupportedOperationException e) {
      Files.copy(source, target, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  static void delete(Path copy) {
    try {
      Files.deleteIfExists(copy);
    } catch (IOException e) {
      LOG.warn("cannot delete '{}': {}", copy, e.toString());
    }
  }
}
