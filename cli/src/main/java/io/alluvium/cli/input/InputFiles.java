package io.alluvium.cli.input;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import java.util.zip.CheckedInputStream;

/** Finds input files and recognises them again. Stateless. */
public final class InputFiles {

  /** How compressed files begin, in hexadecimal digits, and what unpacks them. */
  private static final Map<Pattern, String> MAGIC =
      Map.of(
          Pattern.compile("1f8b08"), "gunzip",
          Pattern.compile("28b52ffd"), "unzstd",
          Pattern.compile("425a683[1-9]314159265359"), "bunzip2",
          Pattern.compile("504b0304"), "unzip",
          Pattern.compile("fd377a585a00"), "unxz");

  private InputFiles() {}

  /**
   * The regular files of the given paths in the order given; those of a directory, at any depth, by
   * name. Hidden files of a directory (their name, or that of a directory above, starts with a dot)
   * are left out.
   *
   * @param output left out as well, if it lies within an input directory
   */
  public static List<InputFile> find(List<Path> inputs, Path output) {
    Path excluded = output.toAbsolutePath().normalize();
    List<InputFile> files = new ArrayList<>();
    for (Path input : inputs) {
      if (Files.isDirectory(input)) {
        addDirectory(input, excluded, files);
      } else {
        files.add(new InputFile(String.valueOf(input.getFileName()), checkedFile(input)));
      }
    }
    return files;
  }

  private static void addDirectory(Path directory, Path excluded, List<InputFile> files) {
    int before = files.size();
    try (Stream<Path> walk = Files.walk(directory)) {
      walk.filter(path -> !path.toAbsolutePath().normalize().startsWith(excluded))
          .filter(path -> !isHidden(directory.relativize(path)))
          .filter(path -> !Files.isDirectory(path))
          .sorted()
          .forEach(
              path ->
                  files.add(
                      new InputFile(directory.relativize(path).toString(), checkedFile(path))));
    } catch (IOException | java.io.UncheckedIOException e) {
      throw new JobException(
          "input directory '" + directory + "' cannot be read: " + IoMessages.of(e), e);
    }
    if (files.size() == before && directory.toAbsolutePath().normalize().startsWith(excluded)) {
      throw new JobException(
          "input directory '"
              + directory
              + "' lies within the output directory, whose files are not read; choose an --output"
              + " outside of it, or below it");
    }
    if (files.size() == before) {
      throw new JobException("input directory '" + directory + "' holds no files; check --input");
    }
  }

  private static boolean isHidden(Path relative) {
    for (Path part : relative) {
      if (part.toString().startsWith(".")) {
        return true;
      }
    }
    return false;
  }

  private static Path checkedFile(Path file) {
    if (!Files.exists(file)) {
      throw new JobException("input '" + file + "' does not exist; check --input");
    }
    if (!Files.isRegularFile(file)) {
      throw new JobException(
          "input '" + file + "' is not a regular file; a job must be able to read its input again");
    }
    if (!Files.isReadable(file)) {
      throw new JobException("input '" + file + "' cannot be read; check its permissions");
    }
    compression(file)
        .ifPresent(
            program -> {
              throw new JobException(
                  "input '"
                      + file
                      + "' is compressed; unpack it first, for example with "
                      + program
                      + ", and name the result");
            });
    return file;
  }

  /** The program that unpacks a file, by the first bytes of the file; empty for any other. */
  private static Optional<String> compression(Path file) {
    byte[] start;
    try (InputStream in = Files.newInputStream(file)) {
      start = in.readNBytes(10);
    } catch (IOException e) {
      throw new JobException("input '" + file + "' cannot be read: " + IoMessages.of(e), e);
    }
    String magic = HexFormat.of().formatHex(start);
    return MAGIC.entrySet().stream()
        .filter(entry -> entry.getKey().matcher(magic).lookingAt())
        .map(Map.Entry::getValue)
        .findAny();
  }

  /** Reads the whole file. */
  public static Fingerprint fingerprint(InputFile file) {
    CRC32C crc = new CRC32C();
    try (InputStream in = new CheckedInputStream(Files.newInputStream(file.path()), crc)) {
      long size = in.transferTo(java.io.OutputStream.nullOutputStream());
      return new Fingerprint(file.name(), size, (int) crc.getValue());
    } catch (IOException e) {
      throw cannotRead(file, e);
    }
  }

  /** Refuses input that is not what the job started with. */
  public static void checkUnchanged(List<InputFile> files, List<Fingerprint> expected) {
    if (files.size() != expected.size()) {
      throw changed(
          "it started with " + expected.size() + " input files, now there are " + files.size());
    }
    for (int i = 0; i < expected.size(); i++) {
      Fingerprint before = expected.get(i);
      if (!files.get(i).name().equals(before.name())) {
        throw changed(
            "input file "
                + (i + 1)
                + " was '"
                + before.name()
                + "', now it is '"
                + files.get(i).name()
                + "'");
      }
      Fingerprint now = fingerprint(files.get(i));
      if (now.sizeBytes() != before.sizeBytes()) {
        throw changed(
            "input file '"
                + files.get(i).path()
                + "' had "
                + before.sizeBytes()
                + " bytes, now it has "
                + now.sizeBytes());
      }
      if (now.crc32c() != before.crc32c()) {
        throw changed("the content of input file '" + files.get(i).path() + "' is another");
      }
    }
  }

  private static JobException changed(String what) {
    return new JobException(
        "the input changed since the job started: "
            + what
            + "; give the same input, or start over with --fresh");
  }

  static JobException cannotRead(InputFile file, IOException cause) {
    return new JobException(
        "input '" + file.path() + "' cannot be read: " + IoMessages.of(cause), cause);
  }
}
