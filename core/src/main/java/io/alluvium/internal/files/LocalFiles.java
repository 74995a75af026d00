package io.alluvium.internal.files;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/** What several packages do with local files. */
public final class LocalFiles {

  private static final int BUFFER_BYTES = 1 << 16;

  private LocalFiles() {}

  /** Deletes a directory and everything in it; one that is not there is passed over. */
  public static void deleteTree(Path directory) throws IOException {
    try (Stream<Path> paths = Files.walk(directory)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    } catch (NoSuchFileException e) {
      // Nothing to delete.
    }
  }

  /** The checksum of all bytes of a file. */
  public static int crc32c(Path file) throws IOException {
    CRC32C crc = new CRC32C();
    byte[] buffer = new byte[BUFFER_BYTES];
    try (InputStream in = Files.newInputStream(file)) {
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        crc.update(buffer, 0, count);
      }
    }
    return (int) crc.getValue();
  }
}
