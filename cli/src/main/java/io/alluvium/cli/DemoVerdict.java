package io.alluvium.cli;

import io.alluvium.cli.job.WordCountJob;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Compares the job's output with a recount that shares no code with the job. Immutable.
 *
 * @param exact whether everything agrees
 * @param lines what was found, for people
 */
record DemoVerdict(boolean exact, List<String> lines) {

  /** General categories L and Nd: what {@code Character.isLetterOrDigit} accepts. */
  private static final Pattern WORD = Pattern.compile("[\\p{L}\\p{Nd}]+");

  private static final int SHOWN_DIFFERENCES = 5;

  static DemoVerdict of(Path text, Path output) throws IOException {
    Map<String, Long> expected = recount(text);
    Map<String, Long> counts = new HashMap<>();
    add(output.resolve(WordCountJob.COUNTS), counts);
    Map<String, Long> parts = new HashMap<>();
    int files = 0;
    try (Stream<Path> list = Files.list(output)) {
      for (Path file : list.toList()) {
        if (String.valueOf(file.getFileName()).startsWith("part-")) {
          add(file, parts);
          files++;
        }
      }
    }
    List<String> lines = new java.util.ArrayList<>();
    lines.add(
        String.format(
            Locale.ROOT,
            "recount of the text:    %,d words, %,d different",
            expected.values().stream().mapToLong(Long::longValue).sum(),
            expected.size()));
    boolean exact = compare("counts.tsv:            ", expected, counts, lines);
    exact &=
        compare(
            String.format(Locale.ROOT, "%-23s", "sum of " + files + " part files:"),
            expected,
            parts,
            lines);
    return new DemoVerdict(exact, lines);
  }

  private static boolean compare(
      String name, Map<String, Long> expected, Map<String, Long> found, List<String> lines) {
    List<String> differences =
        Stream.concat(expected.keySet().stream(), found.keySet().stream())
            .filter(word -> !Objects.equals(expected.get(word), found.get(word)))
            .collect(java.util.stream.Collectors.toCollection(TreeSet::new))
            .stream()
            .map(word -> word + " " + found.get(word) + " instead of " + expected.get(word))
            .toList();
    lines.add(
        name
            + (differences.isEmpty()
                ? " the same"
                : " "
                    + differences.size()
                    + " words differ: "
                    + String.join(
                        ", ",
                        differences.subList(0, Math.min(SHOWN_DIFFERENCES, differences.size())))));
    return differences.isEmpty();
  }

  private static Map<String, Long> recount(Path text) throws IOException {
    Map<String, Long> counts = new HashMap<>();
    try (Stream<String> lines = Files.lines(text, StandardCharsets.UTF_8)) {
      lines.forEach(
          line -> {
            Matcher matcher = WORD.matcher(line);
            while (matcher.find()) {
              counts.merge(matcher.group().toLowerCase(Locale.ROOT), 1L, Long::sum);
            }
          });
    }
    return counts;
  }

  private static void add(Path tsv, Map<String, Long> counts) throws IOException {
    for (String line : Files.readAllLines(tsv, StandardCharsets.UTF_8)) {
      int tab = line.indexOf('\t');
      counts.merge(line.substring(0, tab), Long.parseLong(line.substring(tab + 1)), Long::sum);
    }
  }
}
