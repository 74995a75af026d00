package io.alluvium.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** Creates and deletes directories for one run of a benchmark. Confined to one thread. */
final class Scratch {

  private Path directory = Path.of("");

  /**
   * Creates a directory below that of the system property {@code alluvium.scratch}, by default
   * below the temporary directory.
   */
  Path make() throws IOException {
    String root = System.getProperty("alluvium.scratch", System.getProperty("java.io.tmpdir"));
    directory = Files.createTempDirectory(Path.of(root), "alluvium-benchmark-");
    return directory;
  }

  void delete() throws IOException {
    delete(directory);
  }

  /** Deletes a directory with its content. */
  static void delete(Path root) throws IOException {
    try (Stream<Path> paths = Files.walk(root)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    }
  }
}
