package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The program in docs/embedding.md, word for word: it compiles, and a kill does not change what it
 * says.
 */
class EmbeddingGuideTest {

  private static final Pattern PROGRAM =
      Pattern.compile("```java\n(import .*?)```", Pattern.DOTALL);
  private static final Pattern SAFE = Pattern.compile("line (\\d+) is safe");

  @TempDir Path directory;

  @Test
  void program_killedTwice_givesExactBalances() throws Exception {
    compile();
    // So many that a kill that comes late still comes before the end.
    Map<String, Long> unused = writePayments(200_000);
    int before = killAfter(2_000);
    int safe = killAfter(before + 2_000);
    // The last life need not see them all.
    Map<String, Long> expected = writePayments(safe + 2_500);
    List<String> lines = run();

    // It may have been killed before it could say that the next thousand are safe.
    assertThat(lines.get(0)).isIn("starting at line " + safe, "starting at line " + (safe + 1_000));
    assertThat(balances(lines)).isEqualTo(expected);
  }

  private void compile() throws IOException {
    Path page = Path.of(System.getProperty("alluvium.root"), "docs", "embedding.md");
    Matcher program = PROGRAM.matcher(Files.readString(page));
    assertThat(program.find()).as("a program in " + page).isTrue();
    Path source = directory.resolve("Payments.java");
    Files.writeString(source, program.group(1));
    int status =
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                null,
                null,
                "-d",
                directory.toString(),
                "-cp",
                System.getProperty("java.class.path"),
                source.toString());
    assertThat(status).isZero();
  }

  /** Writes so many of always the same payments; tells the balances after them. */
  private Map<String, Long> writePayments(int count) throws IOException {
    SplittableRandom random = new SplittableRandom(11);
    Map<String, Long> balances = new TreeMap<>();
    List<String> lines = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      String account = "account-" + random.nextInt(50);
      long cents = random.nextLong(-10_000, 10_000);
      balances.merge(account, cents, Long::sum);
      lines.add(account + "," + cents + "," + i * 60_000L);
    }
    Files.write(directory.resolve("payments.csv"), lines);
    return balances;
  }

  private Process start() throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx256m",
            "-cp",
            directory
                + System.getProperty("path.separator")
                + System.getProperty("java.class.path"),
            "Payments",
            directory.resolve("payments.csv").toString(),
            directory.resolve("checkpoints").toString())
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  /** Kills it as soon as so many lines are safe; tells how many were when it died. */
  private int killAfter(int lines) throws Exception {
    Process process = start();
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
      int safe = 0;
      for (String line = out.readLine(); line != null; line = out.readLine()) {
        Matcher matcher = SAFE.matcher(line);
        safe = matcher.matches() ? Integer.parseInt(matcher.group(1)) : safe;
        if (safe >= lines) {
          // Not with the method of the process, which closes the output before it is read.
          boolean unused = process.toHandle().destroyForcibly();
        }
      }
      assertThat(process.waitFor()).as("status after line %s", safe).isEqualTo(128 + 9);
      return safe;
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  private List<String> run() throws Exception {
    Process process = start();
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
      List<String> lines = out.lines().toList();
      assertThat(process.waitFor()).isZero();
      return lines;
    } finally {
      process.destroyForcibly();
    }
  }

  private static Map<String, Long> balances(List<String> lines) {
    Map<String, Long> balances = new TreeMap<>();
    for (String line : lines) {
      if (line.startsWith("account-")) {
        String[] fields = line.split(" ", 2);
        balances.put(fields[0], Long.parseLong(fields[1]));
      }
    }
    return balances;
  }
}
