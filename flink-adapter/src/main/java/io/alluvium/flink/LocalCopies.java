package io.alluvium.flink;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Objects;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Local files that hold copies of blobs. Stateless. */
final class LocalCopies {

  private static final Logger LOG = LoggerFactory.getLogger(LocalCopies.class);

  private LocalCopies() {}

  /** Writes a file that appears as a whole; who reads the one before goes on reading that. */
  static Path write(Path file, byte[] bytes) throws IOException {
    Path directory = Files.createDirectories(Objects.requireNonNull(file.getParent()));
    Path unfinished = Files.write(Files.createTempFile(directory, "copy-", ".tmp"), bytes);
    return Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
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
