package io.alluvium.cli.runner;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The file of a job's final results, replaced as a whole. Stateless. */
final class ResultFile {

  private ResultFile() {}

  /**
   * Writes {@code key<TAB>count} lines, sorted by key.
   *
   * @param sink says where it stands until it is complete
   */
  static Path write(Path directory, String name, List<SortedRuns> rows, FileSink sink) {
    Path target = directory.resolve(name);
    try {
      Path temporary = sink.temporaryDirectory().resolve(name);
      try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(temporary))) {
        SortedRuns.merge(
            rows,
            row ->
                out.write(
                    (row.key() + "\t" + row.count() + "\n").getBytes(StandardCharsets.UTF_8)));
      }
      try (FileChannel channel = FileChannel.open(temporary, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
      Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE);
      try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
        channel.force(true);
      }
      return target;
    } catch (IOException e) {
      throw OutputDirectory.cannotWrite(directory, e);
    }
  }

  /** One result, to know it again: another one is a file of its own. */
  record Seen(@Nullable Object fileKey, FileTime modified) {}

  /** What there is now. */
  static Optional<Seen> look(Path directory, String name) {
    try {
      BasicFileAttributes file =
          Files.readAttributes(directory.resolve(name), BasicFileAttributes.class);
      return Optional.of(new Seen(file.fileKey(), file.lastModifiedTime()));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  /** Deletes a result that was seen before, and no other. */
  static void delete(Path directory, String name, Seen earlier) {
    try {
      if (look(directory, name).equals(Optional.of(earlier))) {
        Files.delete(directory.resolve(name));
      }
    } catch (NoSuchFileException e) {
      // Somebody was faster.
    } catch (IOException e) {
      throw OutputDirectory.cannotWrite(directory, e);
    }
  }
}
