package io.alluvium.cli.runner;

import io.alluvium.cli.input.IoMessages;
import io.alluvium.cli.input.JobException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * The directory that a job writes to; it belongs to one job, whose name it keeps in {@code
 * .alluvium/job}. Stateless.
 */
final class OutputDirectory {

  private static final String PRIVATE = ".alluvium";

  private OutputDirectory() {}

  /** Makes it where needed, and refuses one that is another job's or cannot be written. */
  static void claim(Path directory, String jobName) {
    Path marker = directory.resolve(PRIVATE).resolve("job");
    if (Files.exists(directory) && !Files.isDirectory(directory)) {
      throw new JobException(
          "the output '" + directory + "' is a file, not a directory; choose another --output");
    }
    make(directory);
    try {
      Files.createDirectories(marker.getParent());
      if (Files.exists(marker)) {
        String owner = Files.readString(marker, StandardCharsets.UTF_8).strip();
        if (!owner.isEmpty() && !owner.equals(jobName)) {
          throw new JobException(
              "the output directory '"
                  + directory
                  + "' belongs to the job '"
                  + owner
                  + "', this one is '"
                  + jobName
                  + "'; choose another --output");
        }
      }
      Files.writeString(marker, jobName + "\n", StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw cannotWrite(directory, e);
    }
  }

  private static void make(Path directory) {
    try {
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw new JobException(
          "the output directory '"
              + directory
              + "' cannot be made in '"
              + nearestExisting(directory)
              + "'"
              + (e instanceof NoSuchFileException ? "" : ": " + IoMessages.of(e))
              + "; allow it there, or choose another --output",
          e);
    }
  }

  private static Path nearestExisting(Path directory) {
    Path path = directory.toAbsolutePath().normalize();
    while (path.getParent() != null && !Files.exists(path)) {
      path = path.getParent();
    }
    return path;
  }

  /** Where checkpoints go unless the configuration says otherwise. */
  static Path checkpoints(Path directory) {
    return directory.resolve(PRIVATE).resolve("checkpoints").toAbsolutePath().normalize();
  }

  /** Where tables go unless the configuration says otherwise. */
  static Path local(Path directory) {
    return directory.resolve(PRIVATE).resolve("local").toAbsolutePath().normalize();
  }

  static JobException cannotWrite(Path directory, IOException cause) {
    return new JobException(
        "the output directory '"
            + directory
            + "' cannot be written: "
            + IoMessages.of(cause)
            + "; make room or allow writing there and run the same command again: it resumes from"
            + " the newest checkpoint",
        cause);
  }
}
