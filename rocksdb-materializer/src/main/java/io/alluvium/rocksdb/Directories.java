package io.alluvium.rocksdb;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Moves and removes the files of a table. */
final class Directories {

  private Directories() {}

  /**
   * Makes {@code target} and brings the restored files of {@code source} there. Table files are
   * immutable, so a hard link does, or else the file is moved; the few others are copied, because a
   * database that opens them may write into them.
   */
  static void stage(Path source, Path target) throws IOException {
    Files.createDirectories(target);
    for (Path file : files(source)) {
      Path to = target.resolve(file.getFileName().toString());
      if (file.getFileName().toString().endsWith(".sst")) {
        linkOrMove(file, to);
      } else {
        Files.copy(file, to);
      }
    }
  }

  private static void linkOrMove(Path from, Path to) throws IOException {
    try {
      Files.createLink(to, from);
    } catch (UnsupportedOperationException | IOException e) {
      // Another file system, or one without links.
      Files.move(from, to);
    }
  }

  private static List<Path> files(Path directory) throws IOException {
    try (Stream<Path> entries = Files.list(directory)) {
      return entries.filter(Files::isRegularFile).toList();
    }
  }

  /** Removes a directory and all that is in it; an absent one is no error. */
  static void delete(Path directory) throws IOException {
    if (!Files.exists(directory)) {
      return;
    }
    try (Stream<Path> entries = Files.walk(directory)) {
      for (Path path : entries.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    }
  }
}
