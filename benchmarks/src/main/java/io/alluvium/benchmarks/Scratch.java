package io.alluvium.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** A directory for one run of a benchmark. Confined to one thread. */
final class Scratch {

  private Path directory = Path.of("");

  /**
   * Below the directory that the system property {@code alluvium.scratch} names, else below the
   * temporary directory.
   */
  Path make() throws IOException {
    String root = System.getProperty("alluvium.scratch", System.getProperty("java.io.tmpdir"));
    directory = Files.createTempDirectory(Path.of(root), "alluvium-benchmark-");
    return directory;
  }

  void delete() throws IOException {
    delete(directory);
  }

  /** Deletes a directory with all that it holds. */
  static void delete(Path root) throws IOException {
    try (Stream<Path> paths = Files.walk(root)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    }
  }
}
