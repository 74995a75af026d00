package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The wordcount job from its command line to its files. */
final class WordCountRunTest {
  @TempDir Path dir;
  private Path input;
  private Path output;
  private String[] command;

  @BeforeEach
  void setUp() throws IOException {
    input = Files.createDirectory(dir.resolve("in"));
    output = dir.resolve("out");
    command =
        new String[] {
          "run", "wordcount", "--input", input.toString(), "--output", output.toString()
        };
  }

  @Test
  void counts_areExact_sortedByCodePoint_andThePartsAddUp() throws IOException {
    Files.writeString(input.resolve("a.txt"), "The cat the CAT\n\uD801\uDC00 \uFF21 z\n\n");
    Files.writeString(input.resolve("b.txt"), "cat ΟΔΟΣ");
    Cli.Result result = Cli.run(command);
    assertThat(result.status()).as(result.err()).isZero();
    assertThat(output.resolve("counts.tsv"))
        .hasContent("cat\t3\nthe\t2\nz\t1\nοδος\t1\n\uFF41\t1\n\uD801\uDC28\t1\n");
    assertThat(Cli.partSums(output)).isEqualTo(Cli.counts(output));
    assertThat(result.out()).contains("wordcount finished: 4 records");
  }

  @Test
  void counts_ofRandomText_areExact_forEveryParallelismAndTable() throws IOException {
    List<String> lines = randomLines(new Random(1), 3_000);
    Files.write(input.resolve("a.txt"), lines, StandardCharsets.UTF_8);
    Files.write(input.resolve("b.txt"), lines.subList(0, 500), StandardCharsets.UTF_8);
    List<String> all = new ArrayList<>(lines);
    all.addAll(lines.subList(0, 500));
    Map<String, Long> expected = Cli.recount(all);
    for (String[] options :
        new String[][] {
          {"--parallelism", "1"},
          {"--parallelism", "3", "--checkpoint-interval", "10ms"},
          {"--parallelism", "5", "--max-parallelism", "5", "--set", "state.backend.type=heap"},
          {"--set", "state.backend.changelog.enabled=false", "--checkpoint-interval", "20ms"}
        }) {
      Cli.Result result = Cli.run(Cli.args(Cli.args(command, options), "--fresh"));
      assertThat(result.status()).as(result.err()).isZero();
      assertThat(Cli.counts(output)).as(String.join(" ", options)).isEqualTo(expected);
      assertThat(Cli.partSums(output)).as(String.join(" ", options)).isEqualTo(expected);
    }
  }

  @Test
  void counts_ofEmptyInput_areAnEmptyFile() throws IOException {
    Files.createFile(input.resolve("a.txt"));
    assertThat(Cli.run(command).status()).isZero();
    assertThat(output.resolve("counts.tsv")).hasContent("");
  }

  @Test
  void counts_ofAVeryLongWord_areExact() throws IOException {
    String word = "w".repeat(3 << 20);
    Files.writeString(input.resolve("a.txt"), word + " " + word + "x");
    Cli.Result result = Cli.run(command);
    assertThat(result.status()).as(result.err()).isZero();
    assertThat(Cli.counts(output)).isEqualTo(Map.of(word, 1L, word + "x", 1L));
  }

  @Test
  void finishedJob_runAgain_rewritesItsOutput() throws IOException {
    Files.writeString(input.resolve("a.txt"), "a b a\n");
    assertThat(Cli.run(command).status()).isZero();
    List<Path> parts = Cli.partFiles(output);
    Files.delete(output.resolve("counts.tsv"));

    Cli.Result again = Cli.run(Cli.args(command, "--parallelism", "3"));
    assertThat(again.status()).as(again.err()).isZero();
    assertThat(again.err()).contains("resuming from checkpoint");
    assertThat(Cli.counts(output)).isEqualTo(Map.of("a", 2L, "b", 1L));
    assertThat(Cli.partFiles(output)).isEqualTo(parts);
  }

  @Test
  void finishedJob_whosePartsWereRemoved_writesThemAgain() throws IOException {
    Files.writeString(input.resolve("a.txt"), "a b a\n");
    assertThat(Cli.run(command).status()).isZero();
    for (Path part : Cli.partFiles(output)) {
      Files.delete(part);
    }
    Cli.Result again = Cli.run(command);
    assertThat(again.status()).as(again.err()).isZero();
    assertThat(Cli.partSums(output)).isEqualTo(Map.of("a", 2L, "b", 1L));
    assertThat(Cli.counts(output)).isEqualTo(Map.of("a", 2L, "b", 1L));
  }

  @Test
  void fresh_startsOver_andRemovesOldOutputAndCheckpoints() throws IOException {
    Files.writeString(input.resolve("a.txt"), "old\n");
    assertThat(Cli.run(Cli.args(command, "--set", "state.checkpoints.num-retained=5")).status())
        .isZero();
    Files.writeString(output.resolve("mine.txt"), "stays");
    Files.writeString(input.resolve("a.txt"), "new words\n");

    Cli.Result fresh =
        Cli.run(Cli.args(command, "--fresh", "--set", "state.checkpoints.num-retained=5"));
    assertThat(fresh.status()).as(fresh.err()).isZero();
    assertThat(Cli.counts(output)).isEqualTo(Map.of("new", 1L, "words", 1L));
    assertThat(Cli.partSums(output)).isEqualTo(Map.of("new", 1L, "words", 1L));
    assertThat(output.resolve("mine.txt")).hasContent("stays");
    assertThat(Cli.run("checkpoints", "list", "--dir", output + "/.alluvium/checkpoints").out())
        .as("checkpoints 1 and 2 were of the old life")
        .doesNotContainPattern("(?m)^[12] ")
        .containsPattern("(?m)^4 ");
  }

  @Test
  void summary_hasTheFieldsOfTheFormat() throws IOException {
    Files.write(input.resolve("a.txt"), randomLines(new Random(2), 1_000));
    Path summary = dir.resolve("summary.json");
    long start = System.nanoTime();
    Cli.Result result =
        Cli.run(
            Cli.args(
                command,
                "--summary",
                summary.toString(),
                "--rate",
                "500/s",
                "--checkpoint-interval",
                "100ms"));
    double seconds = (System.nanoTime() - start) / 1e9;
    assertThat(result.status()).as(result.err()).isZero();
    JsonNode tree = new ObjectMapper().readTree(summary.toFile());
    assertThat(names(tree))
        .containsExactly(
            "records",
            "restoredFromCheckpoint",
            "replayedChanges",
            "restoreMillis",
            "checkpoints",
            "materializations",
            "requests",
            "recordsPerSecond");
    assertThat(names(tree.get("checkpoints")))
        .containsExactly("completed", "failed", "durationMillis", "syncMicros", "bytesFlushed");
    assertThat(names(tree.at("/checkpoints/durationMillis"))).containsExactly("p50", "p99", "max");
    assertThat(names(tree.at("/checkpoints/syncMicros"))).containsExactly("p50", "p99", "max");
    assertThat(names(tree.at("/checkpoints/bytesFlushed"))).containsExactly("p50", "max");
    assertThat(names(tree.get("materializations"))).containsExactly("completed", "failed");
    assertThat(names(tree.get("requests")))
        .containsExactly(
            "put",
            "get",
            "list",
            "delete",
            "bytesPut",
            "bytesGot",
            "perCheckpoint",
            "perCheckpointInAll");
    // One of log and one of manifest; the first and the last have no log, the takeover is on top.
    assertThat(tree.at("/requests/perCheckpoint").asDouble()).isBetween(1.0, 2.5);
    assertThat(tree.at("/requests/bytesPut").asLong()).isPositive();
    assertThat(result.out())
        .contains("requests to the store: " + tree.at("/requests/put") + " PUT");
    assertThat(tree.get("records").asLong()).isEqualTo(1_000);
    assertThat(tree.get("restoredFromCheckpoint").isNull()).isTrue();
    assertThat(tree.at("/checkpoints/completed").asLong()).isGreaterThanOrEqualTo(4);
    assertThat(tree.get("recordsPerSecond").asDouble()).isBetween(1_000 / seconds - 0.1, 525.0);
  }

  @Test
  void cleanEnd_leavesOnlyWhatTheCheckpointReaches() throws IOException {
    Files.write(input.resolve("a.txt"), randomLines(new Random(3), 2_000));
    Cli.Result result =
        Cli.run(
            Cli.args(
                command,
                "--checkpoint-interval",
                "20ms",
                "--rate",
                "8000/s",
                "--set",
                "state.backend.changelog.periodic-materialize.interval=50ms"));
    assertThat(result.status()).as(result.err()).isZero();
    String checkpoints = output + "/.alluvium/checkpoints";
    Cli.Result gc =
        Cli.run("checkpoints", "gc", "--dry-run", "--grace", "0s", "--dir", checkpoints);
    assertThat(gc.status()).as(gc.err()).isZero();
    assertThat(gc.out()).startsWith("would delete 0 blobs");
    assertThat(Cli.files(output).stream().map(file -> String.valueOf(file.getFileName())))
        .allMatch(
            name ->
                name.equals(".alluvium") || name.equals("counts.tsv") || name.startsWith("part-"));
  }

  private static List<String> names(JsonNode node) {
    List<String> names = new ArrayList<>();
    for (Iterator<String> fields = node.fieldNames(); fields.hasNext(); ) {
      names.add(fields.next());
    }
    return names;
  }

  static List<String> randomLines(Random random, int count) {
    List<String> lines = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      StringBuilder line = new StringBuilder();
      for (int words = random.nextInt(12); words > 0; words--) {
        line.append(random.nextInt(5) == 0 ? "W" : "w")
            .append((int) (Math.pow(random.nextDouble(), 3) * 2_000))
            .append(random.nextBoolean() ? " " : ", ");
      }
      lines.add(line.toString());
    }
    return lines;
  }
}
