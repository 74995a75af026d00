package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.kill.KillHarness;
import io.alluvium.testkit.kill.KillHarness.Moments;
import io.alluvium.testkit.kill.KillHarness.Round;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The real command, killed with SIGKILL again and again, each life with another parallelism, table
 * and kind of checkpoint: its results are exact all the same, and every line of output is there
 * once.
 */
final class KillIT {
  private static final Pattern CONFIRMED = Pattern.compile("checkpoint (\\d+) confirmed");
  private static final Pattern RESUMED = Pattern.compile("resuming from checkpoint (\\d+)");
  private static final int KILLED = 128 + 9;
  private static final int ROUNDS = 10;
  private static final Duration TIMEOUT = Duration.ofMinutes(2);

  @TempDir Path dir;

  private Random random = new Random();

  @ParameterizedTest
  @MethodSource("seeds")
  void wordcount_killedAgainAndAgain_countsExactly(long seed) throws IOException {
    random = new Random(seed);
    List<String> lines = WordCountRunTest.randomLines(random, 12_000);
    Path input = Files.createDirectory(dir.resolve("in"));
    Files.write(input.resolve("a.txt"), lines.subList(0, 7_000), StandardCharsets.UTF_8);
    Files.write(input.resolve("b.txt"), lines.subList(7_000, 12_000), StandardCharsets.UTF_8);
    Map<String, Long> expected = Cli.recount(lines);
    survive(
        output -> List.of("run", "wordcount", "--input", input.toString(), "--rate", "5000/s"),
        output -> {
          assertThat(Cli.counts(output)).isEqualTo(expected);
          assertThat(Cli.partSums(output)).isEqualTo(expected);
        });
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void slidingWindow_killedAgainAndAgain_firesEachWindowOnce(long seed) throws IOException {
    random = new Random(seed);
    WindowModel model = new WindowModel(100, 20, 15);
    List<String> rows = new ArrayList<>(List.of("k,t,v"));
    long time = 0;
    for (int i = 0; i < 12_000; i++) {
      time += random.nextInt(3);
      long at = time - random.nextInt(25);
      String key = "k" + random.nextInt(20);
      rows.add(key + "," + at + "," + i);
      model.add(key, at, Integer.toString(i));
    }
    Path input = Files.write(dir.resolve("in.csv"), rows, StandardCharsets.UTF_8);
    List<String> expected = model.finish();
    survive(
        output ->
            List.of(
                "run",
                "sliding-window",
                "--input",
                input.toString(),
                "--rate",
                "5000/s",
                "--key",
                "k",
                "--time",
                "t",
                "--value",
                "v",
                "--window",
                "100ms",
                "--slide",
                "20ms",
                "--lateness",
                "15ms"),
        output -> assertThat(Cli.partLines(output)).isEqualTo(expected));
  }

  /** Parallelism 2, 3, 1 and the changelog on, off, on, each life ended by a kill but the last. */
  @Test
  void wordcount_rescaledAndSwitched_countsExactly() throws IOException {
    List<String> lines = WordCountRunTest.randomLines(random, 20_000);
    Path input = Files.write(dir.resolve("in.txt"), lines, StandardCharsets.UTF_8);
    Path output = dir.resolve("out");
    Map<String, Long> expected = Cli.recount(lines);
    List<String> history = new ArrayList<>();
    for (String[] life : new String[][] {{"2", "true"}, {"3", "false"}, {"1", "true"}}) {
      boolean last = life[0].equals("1");
      List<String> command = Cli.wordCount(input, output, "50ms", "--parallelism", life[0]);
      if (!last) {
        // Slow enough not to finish before the kill, however slow the machine is.
        command.addAll(List.of("--rate", "500/s"));
      }
      set(command, "state.backend.changelog.enabled", life[1]);
      set(command, "state.backend.changelog.periodic-materialize.interval", "100ms");
      KillHarness harness = harness(command);
      Round round = last ? harness.finish() : harness.killAfter(4);
      history.add(round.toString());
      assertThat(round.exitStatus()).as("%s", history).isEqualTo(last ? 0 : KILLED);
    }
    assertThat(String.join("\n", history)).contains("resuming from checkpoint");
    assertThat(Cli.counts(output)).isEqualTo(expected);
    assertThat(Cli.partSums(output)).isEqualTo(expected);
  }

  /** A life that {@code --fresh} began is killed early: nothing of the one before comes back. */
  @Test
  void fresh_killedEarly_leavesNothingOfTheOldLife() throws IOException {
    Path input = dir.resolve("in.txt");
    Path output = dir.resolve("out");
    List<String> command = Cli.wordCount(input, output, "50ms");
    set(command, "state.checkpoints.num-retained", 3);
    List<String> fresh = new ArrayList<>(command);
    // Slow enough not to finish before the kill, however slow the machine is.
    fresh.addAll(List.of("--fresh", "--rate", "200/s"));
    for (int round = 1; round <= 3; round++) {
      random = new Random(round);
      List<String> lines = WordCountRunTest.randomLines(random, 1_000);
      Files.write(input, lines, StandardCharsets.UTF_8);
      Round killed = harness(fresh).kill(new Moments(2, Duration.ofMillis(1 + 20 * round)));
      if (killed.acknowledged().isEmpty() && round > 1) {
        // Killed before the new life began: it is the old one that goes on, and refuses.
        killed = harness(fresh).killAfter(1);
      }
      assertThat(killed.exitStatus()).as("%s", killed).isEqualTo(KILLED);
      Round end = harness(command).finish();
      assertThat(end.exitStatus()).as("%s %s", killed, end).isZero();
      assertThat(Cli.counts(output)).as("%s %s", killed, end).isEqualTo(Cli.recount(lines));
      assertThat(Cli.partSums(output)).as("%s %s", killed, end).isEqualTo(Cli.recount(lines));
    }
  }

  private interface Command {
    List<String> of(Path output);
  }

  private interface Check {
    void check(Path output) throws IOException;
  }

  private void survive(Command command, Check check) throws IOException {
    Path output = dir.resolve("out-0");
    long acknowledged = 0;
    int kills = 0;
    List<String> history = new ArrayList<>();
    for (int round = 0; kills < ROUNDS && round < 5 * ROUNDS; round++) {
      Round life = harness(command.of(output), output).kill(new Moments(6, Duration.ofMillis(80)));
      history.add(life.toString());
      acknowledged = checkResumed(life, acknowledged, history);
      if (life.exitStatus() == KILLED) {
        kills++;
      } else {
        assertThat(life.exitStatus()).as("%s", history).isZero();
        check.check(output);
        output = dir.resolve("out-" + (round + 1));
        acknowledged = 0;
        history.clear();
      }
    }
    assertThat(kills).isEqualTo(ROUNDS);
    Round end = harness(command.of(output), output).finish();
    history.add(end.toString());
    checkResumed(end, acknowledged, history);
    assertThat(end.exitStatus()).as("%s", history).isZero();
    check.check(output);
  }

  /** What was acknowledged is never lost; an unacknowledged checkpoint may have made it. */
  private static long checkResumed(Round life, long acknowledged, List<String> history) {
    for (String line : life.output()) {
      Matcher resumed = RESUMED.matcher(line);
      if (resumed.find()) {
        assertThat(Long.parseLong(resumed.group(1)))
            .as("%s", history)
            .isBetween(acknowledged, acknowledged + 1);
      }
    }
    List<Long> ids = life.acknowledged();
    if (acknowledged > 0 && !ids.isEmpty()) {
      assertThat(ids.get(0)).as("%s", history).isGreaterThan(acknowledged);
    }
    return ids.isEmpty() ? acknowledged : ids.get(ids.size() - 1);
  }

  private KillHarness harness(List<String> command, Path output) {
    List<String> arguments = new ArrayList<>(command);
    arguments.addAll(List.of("--output", output.toString(), "--checkpoint-interval", "50ms"));
    arguments.addAll(List.of("--parallelism", Integer.toString(1 + random.nextInt(3))));
    set(arguments, "state.backend.changelog.enabled", random.nextInt(4) > 0);
    set(arguments, "state.backend.local-recovery", random.nextBoolean());
    set(arguments, "state.backend.type", random.nextInt(4) > 0 ? "rocksdb" : "heap");
    set(arguments, "state.backend.changelog.periodic-materialize.interval", "150ms");
    return harness(arguments);
  }

  private KillHarness harness(List<String> arguments) {
    return new KillHarness(
        KillHarness.java(
            List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            Alluvium.class.getName(),
            arguments),
        dir,
        CONFIRMED,
        TIMEOUT,
        new Random(random.nextLong()));
  }

  private static void set(List<String> arguments, String key, Object value) {
    arguments.add("--set");
    arguments.add(key + "=" + value);
  }

  static Stream<Long> seeds() {
    return Seeds.of(1);
  }
}
