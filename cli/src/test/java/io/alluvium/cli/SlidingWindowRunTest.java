package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The sliding-window job from its command line to its files. */
final class SlidingWindowRunTest {
  @TempDir Path dir;
  private Path input;
  private Path output;

  @BeforeEach
  void setUp() {
    input = dir.resolve("in.csv");
    output = dir.resolve("out");
  }

  @Test
  void windows_ofAFewEvents_areTheseLines() throws IOException {
    Files.writeString(input, "k,t,v\na,-1,5\na,0,1.50\n\"b\tc\",9,2\na,10,-3E0\na,4,100\n");
    Cli.Result result = run("10ms", "5ms", "0s");
    assertThat(result.status()).as(result.err()).isZero();
    assertThat(Cli.partLines(output))
        .containsExactlyInAnyOrder(
            "a\t-10\t0\t1\t5\t5",
            "a\t-5\t5\t2\t6.5\t5",
            "a\t0\t10\t1\t1.5\t1.5",
            "b\\tc\t0\t10\t1\t2\t2",
            "b\\tc\t5\t15\t1\t2\t2",
            "a\t5\t15\t1\t-3\t-3",
            "a\t10\t20\t1\t-3\t-3");
    assertThat(result.out()).contains("late drops: 2").contains("late events: 1");
  }

  @Test
  void windows_ofRandomEvents_areThoseOfTheModel_forEveryParallelism() throws IOException {
    Random random = new Random(11);
    for (String[] times :
        new String[][] {{"40ms", "10ms", "0s"}, {"25ms", "10ms", "7ms"}, {"5ms", "20ms", "50ms"}}) {
      WindowModel model = new WindowModel(millis(times[0]), millis(times[1]), millis(times[2]));
      List<String> rows = new ArrayList<>(List.of("v,x,t,k"));
      long time = -300;
      for (int i = 0; i < 2_000; i++) {
        time += random.nextInt(4);
        long late = time - (random.nextInt(5) == 0 ? random.nextInt(60) : 0);
        String key = "k" + random.nextInt(5);
        String value =
            new java.math.BigDecimal(random.nextInt(2_000) - 1_000).movePointLeft(2).toString();
        rows.add(value + ",\"line\nfeed\"," + late + "," + key);
        model.add(key, late, value);
      }
      Files.write(input, rows, StandardCharsets.UTF_8);
      List<String> expected = model.finish();
      assertThat(model.lateDrops).isPositive();
      for (String parallelism : new String[] {"1", "2", "3"}) {
        Cli.Result result =
            run(
                times[0],
                times[1],
                times[2],
                "--parallelism",
                parallelism,
                "--fresh",
                "--checkpoint-interval",
                "5ms");
        assertThat(result.status()).as(result.err()).isZero();
        assertThat(Cli.partLines(output)).isEqualTo(expected);
        assertThat(result.out()).contains("late drops: " + model.lateDrops + "\n");
        assertThat(result.out()).contains("late events: " + model.lateEvents + "\n");
      }
    }
  }

  @Test
  void windows_overFlights_areThoseOfTheModel() throws IOException {
    List<String> rows = flights(Boolean.getBoolean("alluvium.full") ? 100_000 : 10_000);
    Files.write(input, rows, StandardCharsets.UTF_8);
    WindowModel model =
        new WindowModel(
            Duration.ofHours(1).toMillis(),
            Duration.ofMinutes(10).toMillis(),
            Duration.ofHours(18).toMillis());
    List<String> header = List.of(rows.get(0).split(",", -1));
    for (String row : rows.subList(1, rows.size())) {
      String[] fields = row.split(",", -1);
      model.add(
          fields[header.indexOf("origin")],
          Instant.parse(fields[header.indexOf("time_hour")]).toEpochMilli(),
          fields[header.indexOf("distance")]);
    }
    Cli.Result result =
        Cli.run(
            "run",
            "sliding-window",
            "--input",
            input.toString(),
            "--output",
            output.toString(),
            "--key",
            "origin",
            "--time",
            "time_hour",
            "--value",
            "distance",
            "--window",
            "1h",
            "--slide",
            "10 min",
            "--lateness",
            "18h");
    assertThat(result.status()).as(result.err()).isZero();
    assertThat(Cli.partLines(output)).isEqualTo(model.finish());
    assertThat(result.out()).contains("late drops: 0");
  }

  @Test
  void badRow_isNamedByFileAndLine_orSkippedAndCounted() throws IOException {
    Files.writeString(input, "k,t,v\na,1,1\n\"x\ny\",2,2\na,3,NA\na,4,4\n");
    Cli.Result failed = run("10ms", "10ms", "0s");
    assertThat(failed.status()).isEqualTo(1);
    assertThat(failed.sentence())
        .isEqualTo(
            "alluvium: the row at line 5 of '"
                + input
                + "' has 'NA' in column 'v', which is not a number; run the job again with"
                + " --on-bad-record skip to leave such rows out, or correct the row and start over"
                + " with --fresh, because the input of a job that has started must not change");

    Cli.Result skipped = run("10ms", "10ms", "0s", "--on-bad-record", "skip");
    assertThat(skipped.status()).as(skipped.err()).isZero();
    assertThat(skipped.out()).contains("bad records skipped: 1");
    assertThat(Cli.partLines(output)).containsExactly("a\t0\t10\t2\t5\t4", "x\\ny\t0\t10\t1\t2\t2");
  }

  private static List<String> flights(int count) throws IOException {
    try (BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(
                new GZIPInputStream(
                    SlidingWindowRunTest.class.getResourceAsStream("data/flights.csv.gz")),
                StandardCharsets.UTF_8))) {
      return reader.lines().limit(1 + count).toList();
    }
  }

  private static long millis(String duration) {
    return io.alluvium.config.Durations.parse(duration).toMillis();
  }

  private Cli.Result run(String window, String slide, String lateness, String... more) {
    String[] command = {
      "run",
      "sliding-window",
      "--input",
      input.toString(),
      "--output",
      output.toString(),
      "--key",
      "k",
      "--time",
      "t",
      "--value",
      "v",
      "--window",
      window,
      "--slide",
      slide,
      "--lateness",
      lateness
    };
    return Cli.run(Cli.args(command, more));
  }
}
