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

  @TempDir Path directory;

  @Test
  void program_killedTwice_givesExactBalances() throws Exception {
    compile();
    Map<String, Long> expected = writePayments(5_500);

    kill("line 2000 is safe");
    kill("line 4000 is safe");
    List<String> lines = run();

    assertThat(lines.get(0)).matches("starting at line (4000|5000)");
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

  private void kill(String after) throws Exception {
    Process process = start();
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
      String line = out.readLine();
      while (line != null && !line.equals(after)) {
        line = out.readLine();
      }
      assertThat(line).isEqualTo(after);
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
