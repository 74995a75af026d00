package io.alluvium.flink.jobs;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.jspecify.annotations.Nullable;

/** Writes each line to a file of its own attempt before handing it on. Confined to its task. */
final class LinesToFile extends RichMapFunction<String, String> {

  private static final long serialVersionUID = 1L;

  private final String directory;
  private transient @Nullable OutputStream out;

  LinesToFile(String directory) {
    this.directory = directory;
  }

  @Override
  public void open(OpenContext context) throws IOException {
    Path directories = Files.createDirectories(Path.of(directory));
    out = new FileOutputStream(directories.resolve(UUID.randomUUID().toString()).toFile());
  }

  @Override
  public String map(String line) throws IOException {
    // One unbuffered write, so that a killed process leaves at most one line in halves.
    Objects.requireNonNull(out).write((line + "\n").getBytes(StandardCharsets.UTF_8));
    return line;
  }

  @Override
  public void close() throws IOException {
    if (out != null) {
      out.close();
    }
  }

  /** The distinct whole lines of all attempts so far. */
  static Set<String> read(Path directory) throws IOException {
    Set<String> lines = new HashSet<>();
    List<Path> files;
    try (Stream<Path> listed = Files.list(directory)) {
      files = listed.toList();
    } catch (NoSuchFileException e) {
      return lines;
    }
    for (Path file : files) {
      try {
        String text = Files.readString(file);
        text.substring(0, text.lastIndexOf('\n') + 1).lines().forEach(lines::add);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return lines;
  }
}
