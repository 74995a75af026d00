package io.alluvium.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;

/** Runs the command in this process, and reads what it leaves. Stateless. */
final class Cli {
  private Cli() {}

  record Result(int status, String out, String err) {
    /** What failed commands look like: one sentence, no stack trace. */
    String sentence() {
      String last = err.lines().reduce((first, second) -> second).orElse("");
      if (err.contains("\tat ") || err.contains("Exception") || !last.startsWith("alluvium: ")) {
        throw new AssertionError("not one plain sentence: " + err);
      }
      return last;
    }
  }

  static Result run(String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine commandLine = Alluvium.commandLine();
    commandLine.setOut(new PrintWriter(out, true));
    commandLine.setErr(new PrintWriter(err, true));
    return new Result(commandLine.execute(args), out.toString(), err.toString());
  }

  static String[] args(String[] args, String... more) {
    String[] all = Arrays.copyOf(args, args.length + more.length);
    System.arraycopy(more, 0, all, args.length, more.length);
    return all;
  }

  /** {@code run wordcount} with what all these tests want. */
  static List<String> wordCount(Path input, Path output, String interval, String... more) {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "run",
                "wordcount",
                "--input",
                input.toString(),
                "--output",
                output.toString(),
                "--checkpoint-interval",
                interval));
    arguments.addAll(List.of(more));
    return arguments;
  }

  /** The lines of all visible part files, sorted. */
  static List<String> partLines(Path output) {
    List<String> lines = new ArrayList<>();
    partFiles(output)
        .forEach(
            file -> {
              try {
                lines.addAll(Files.readAllLines(file, StandardCharsets.UTF_8));
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            });
    lines.sort(null);
    return lines;
  }

  static List<Path> partFiles(Path output) {
    return files(output).stream()
        .filter(file -> String.valueOf(file.getFileName()).startsWith("part-"))
        .toList();
  }

  static List<Path> files(Path directory) {
    try (Stream<Path> list = Files.list(directory)) {
      return list.sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The sum of a word's lines over all part files. */
  static Map<String, Long> partSums(Path output) {
    Map<String, Long> sums = new TreeMap<>();
    for (String line : partLines(output)) {
      int tab = line.indexOf('\t');
      sums.merge(line.substring(0, tab), Long.parseLong(line.substring(tab + 1)), Long::sum);
    }
    return sums;
  }

  static Map<String, Long> counts(Path output) throws IOException {
    return Files.readAllLines(output.resolve("counts.tsv"), StandardCharsets.UTF_8).stream()
        .collect(
            Collectors.toMap(
                line -> line.substring(0, line.indexOf('\t')),
                line -> Long.parseLong(line.substring(line.indexOf('\t') + 1)),
                (a, b) -> {
                  throw new AssertionError("a word stands twice");
                },
                TreeMap::new));
  }

  /** Counts words in a way of its own. */
  static Map<String, Long> recount(List<String> lines) {
    Map<String, Long> counts = new HashMap<>();
    for (String line : lines) {
      StringBuilder word = new StringBuilder();
      (line + " ")
          .codePoints()
          .forEach(
              c -> {
                if (Character.isLetterOrDigit(c)) {
                  word.appendCodePoint(c);
                } else if (!word.isEmpty()) {
                  counts.merge(word.toString().toLowerCase(java.util.Locale.ROOT), 1L, Long::sum);
                  word.setLength(0);
                }
              });
    }
    return new TreeMap<>(counts);
  }
}
