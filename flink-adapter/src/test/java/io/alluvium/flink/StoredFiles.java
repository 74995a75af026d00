package io.alluvium.flink;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Looks at files that other threads may be deleting. Stateless. */
public final class StoredFiles {

  private StoredFiles() {}

  /** All files below a directory, which must be there itself. */
  public static List<Path> below(Path directory) throws IOException {
    while (true) {
      try (Stream<Path> all = Files.walk(directory)) {
        return all.filter(Files::isRegularFile).toList();
      } catch (UncheckedIOException e) {
        if (!(e.getCause() instanceof NoSuchFileException)) {
          throw e;
        }
        // One went while it was looked at: looks again.
      }
    }
  }
}
