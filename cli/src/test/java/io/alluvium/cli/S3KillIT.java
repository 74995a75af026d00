package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.kill.KillHarness;
import io.alluvium.testkit.kill.KillHarness.Moments;
import io.alluvium.testkit.kill.KillHarness.Round;
import io.alluvium.testkit.s3.FaultDecision;
import io.alluvium.testkit.s3.FaultProxy;
import io.alluvium.testkit.s3.S3Server;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The real command with its checkpoints on object storage, killed with SIGKILL: results are exact,
 * and a collection afterwards leaves in the bucket exactly what the checkpoints need.
 */
final class S3KillIT {
  private static final Pattern CONFIRMED = Pattern.compile("checkpoint (\\d+) confirmed");
  private static final int KILLED = 128 + 9;
  private static final int ROUNDS = 5;
  private static final Duration TIMEOUT = Duration.ofMinutes(2);
  private static final String OFTEN = "state.backend.changelog.periodic-materialize.interval=150ms";

  @TempDir Path dir;

  static Stream<Long> seeds() {
    return Seeds.of(1);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void wordcount_killedAgainAndAgain_countsExactlyAndLeavesNoOrphans(long seed) throws IOException {
    Random random = new Random(seed);
    List<String> lines = WordCountRunTest.randomLines(random, 15_000);
    Path input = Files.write(dir.resolve("in.txt"), lines, StandardCharsets.UTF_8);
    Path output = dir.resolve("out");
    S3Job job = S3Job.fresh();
    List<String> history = new ArrayList<>();
    for (int round = 0; round < ROUNDS; round++) {
      KillHarness harness =
          harness(
              job,
              random,
              Cli.wordCount(
                  input,
                  output,
                  "50ms",
                  // Slow enough not to finish before the last kill, however slow the store is.
                  "--rate",
                  "300/s",
                  "--parallelism",
                  Integer.toString(1 + random.nextInt(3)),
                  "--set",
                  OFTEN,
                  "--set",
                  "state.checkpoints.num-retained=2",
                  "--set",
                  "state.backend.changelog.enabled=" + (random.nextInt(4) > 0)));
      Round life = harness.kill(new Moments(5, Duration.ofMillis(150)));
      history.add(life.toString());
      assertThat(life.exitStatus()).as("%s", history).isEqualTo(KILLED);
      job.collectAndCheck(2, round + 1);
      job.verifyNewest();
    }
    Round end = harness(job, random, Cli.wordCount(input, output, "200ms")).finish();
    history.add(end.toString());
    assertThat(end.exitStatus()).as("%s", history).isZero();
    assertThat(String.join("\n", history)).contains("resuming from checkpoint");
    assertExact(lines, output);
  }

  /** The parts of a table file that was on its way are no objects, and are paid for. */
  @Test
  void wordcount_killedInTheMidstOfAnUploadInParts_leavesNoParts() throws Exception {
    Random random = new Random(5);
    // Words that do not compress, so that a table file is large enough for parts.
    List<String> lines =
        IntStream.range(0, 50_000)
            .mapToObj(
                i ->
                    LongStream.generate(random::nextLong)
                        .limit(12)
                        .mapToObj(Long::toHexString)
                        .collect(Collectors.joining()))
            .toList();
    Path input = Files.write(dir.resolve("in.txt"), lines, StandardCharsets.UTF_8);
    Path output = dir.resolve("out");
    S3Job job = S3Job.fresh();
    CountDownLatch part = new CountDownLatch(2);
    try (FaultProxy proxy = FaultProxy.before(S3Server.get().endpoint())) {
      proxy.policy(
          request -> {
            if (request.target().contains("partNumber=")) {
              part.countDown();
              return request.target().contains("partNumber=1&")
                  ? FaultDecision.NONE
                  : new FaultDecision.Unanswered();
            }
            return FaultDecision.NONE;
          });
      List<String> run =
          Cli.wordCount(
              input,
              output,
              // Everything goes into the table file of the one checkpoint at the end.
              "1h",
              "--parallelism",
              "1",
              "--set",
              "state.backend.changelog.enabled=false",
              "--set",
              "s3.multipart.threshold=5mb",
              "--set",
              "s3.multipart.part-size=5mb");
      Path log = dir.resolve("log.txt");
      Process process =
          new ProcessBuilder(job.through(proxy.endpoint()).command(run))
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start();
      try {
        assertThat(part.await(1, TimeUnit.MINUTES))
            .as("a part was sent: %s %s", proxy.requestsByMethod(), Files.readString(log))
            .isTrue();
      } finally {
        process.destroyForcibly().waitFor();
      }
    }
    assertThat(S3Server.get().unfinishedUploads(job.uri())).isNotEmpty();
    job.collectAndCheck(1, 1);
    Round end = harness(job, random, Cli.wordCount(input, output, "200ms")).finish();
    assertThat(end.exitStatus()).as("%s", end).isZero();
    assertExact(lines, output);
  }

  /** Another process collects garbage all the time that the job lives. */
  @Test
  void collector_besideALiveJob_takesNothingThatItNeeds() throws Exception {
    Random random = new Random(6);
    List<String> lines = WordCountRunTest.randomLines(random, 12_000);
    Path input = Files.write(dir.resolve("in.txt"), lines, StandardCharsets.UTF_8);
    Path output = dir.resolve("out");
    S3Job job = S3Job.fresh();
    // Slow enough for all the collections, however slow the store is.
    List<String> slow = Cli.wordCount(input, output, "50ms", "--rate", "200/s", "--set", OFTEN);
    Round orphaning = harness(job, random, slow).killAfter(6);
    assertThat(orphaning.exitStatus()).as("%s", orphaning).isEqualTo(KILLED);

    Process live = start(job.command(slow));
    try (BufferedReader reader = live.inputReader(StandardCharsets.UTF_8)) {
      int collections = 0;
      for (int confirmed = 0; confirmed < 25; ) {
        String line = reader.readLine();
        assertThat(line).isNotNull();
        if (CONFIRMED.matcher(line).find() && ++confirmed % 2 == 0) {
          Cli.Result gc = collectBeside(job);
          assertThat(gc.status()).as(gc.err()).isZero();
          collections++;
        }
      }
      assertThat(collections).isEqualTo(12);
    } finally {
      live.destroyForcibly().waitFor();
    }
    job.verifyNewest();
    Round end = harness(job, random, Cli.wordCount(input, output, "200ms")).finish();
    assertThat(end.exitStatus()).as("%s", end).isZero();
    assertThat(end.output()).anyMatch(line -> line.contains("resuming from checkpoint"));
    assertExact(lines, output);
  }

  /** On a slow machine the slots may change faster than they can be read, for a while. */
  private static Cli.Result collectBeside(S3Job job) {
    Cli.Result gc = job.checkpoints("gc");
    for (int i = 0; i < 10 && gc.err().contains("change faster than they can be read"); i++) {
      gc = job.checkpoints("gc");
    }
    return gc;
  }

  private static void assertExact(List<String> lines, Path output) throws IOException {
    Map<String, Long> expected = Cli.recount(lines);
    assertThat(Cli.counts(output)).isEqualTo(expected);
    assertThat(Cli.partSums(output)).isEqualTo(expected);
  }

  private KillHarness harness(S3Job job, Random random, List<String> arguments) {
    return new KillHarness(
        job.command(arguments), dir, CONFIRMED, TIMEOUT, new Random(random.nextLong()));
  }

  private Process start(List<String> command) throws IOException {
    return new ProcessBuilder(command).directory(dir.toFile()).redirectErrorStream(true).start();
  }
}
