package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.s3.FaultDecision;
import io.alluvium.testkit.s3.FaultPolicy;
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
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The real command while its object storage is away: the same process goes on and ends with exact
 * results; what does not pass by itself ends it with one sentence. Each test mostly waits, for a
 * job, a bucket's directory and a proxy of its own.
 */
@Execution(ExecutionMode.CONCURRENT)
final class S3OutageIT {

  /** Longer than three checkpoints need to fail, one after the other. */
  private static final Duration OUTAGE = Duration.ofSeconds(Seeds.full() ? 60 : 10);

  private static final Pattern CONFIRMED = Pattern.compile("checkpoint (\\d+) confirmed.*");
  private static final String SMALL_MEMORY = "dstl.dfs.upload.max-in-flight=1mb";

  @TempDir Path dir;
  private final S3Job job = S3Job.fresh();
  private final List<String> said = new ArrayList<>();
  private final FaultProxy proxy = FaultProxy.before(S3Server.get().endpoint());
  private List<String> lines = List.of();
  private Path input = Path.of("");

  @BeforeEach
  void writeInput() throws IOException {
    lines = WordCountRunTest.randomLines(new Random(7), 40_000);
    input = Files.write(dir.resolve("in.txt"), lines, StandardCharsets.UTF_8);
  }

  @AfterEach
  void closeProxy() {
    proxy.close();
  }

  @Test
  void outage_theSameProcessGoesOn_andItsResultsAreExact() throws Exception {
    Process process = start("--rate", rateBeyondOutage());
    try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
      read(output, 3, CONFIRMED.asMatchPredicate());
      outage();
      read(output, 1, line -> line.startsWith("storage answers again after "));
      int failed = Integer.parseInt(last().substring(last().lastIndexOf(' ') + 1));
      assertThat(failed).as("failed in a row: %s", said).isGreaterThan(3);
      read(output, 3, CONFIRMED.asMatchPredicate());
      assertEnd(process, output, 0);
    }
    assertThat(said.stream().filter(line -> line.contains(" failed: "))).hasSize(1);
    assertExact();
  }

  /** Tasks that wait for room keep the barrier from passing, until there is room again. */
  @Test
  void outage_withLittleMemory_holdsTheTasksBack_andTheyGoOn() throws Exception {
    Process process = start("--rate", rateBeyondOutage(), "--set", SMALL_MEMORY);
    try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
      read(output, 3, CONFIRMED.asMatchPredicate());
      outage();
      read(output, 3, CONFIRMED.asMatchPredicate());
      assertEnd(process, output, 0);
    }
    assertExact();
  }

  /** The log is stored, the manifest's outcome stays unknown for longer than a commit waits. */
  @Test
  void outage_ofManifestsOnly_commitsTheSameOnesAgain() throws Exception {
    Process process =
        start("--rate", rate(10), "--set", "alluvium.checkpoint.commit-timeout=500ms");
    try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
      read(output, 3, CONFIRMED.asMatchPredicate());
      proxy.policy(
          request -> isSlotPut(request) ? new FaultDecision.AnswerLost() : FaultDecision.NONE);
      read(output, 1, line -> line.startsWith("it is unknown whether checkpoint "));
      proxy.policy(FaultPolicy.NONE);
      read(output, 1, line -> line.startsWith("storage answers again after "));
      read(output, 3, CONFIRMED.asMatchPredicate());
      assertEnd(process, output, 0);
    }
    assertExact();
  }

  @Test
  void accessDenied_endsTheJobInOneSentence_andItResumes() throws Exception {
    Process process = start("--rate", rate(10));
    try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
      read(output, 3, CONFIRMED.asMatchPredicate());
      proxy.policy(request -> new FaultDecision.Refused(403, "AccessDenied"));
      assertEnd(process, output, 1);
    }
    assertThat(last())
        .startsWith("alluvium: ")
        .contains("access is denied", "run the same command again");
    proxy.policy(FaultPolicy.NONE);
    assertResumes();
  }

  @Test
  void outage_longerThanTolerated_endsTheJobInOneSentence_andItResumes() throws Exception {
    Process process = start("--rate", rate(10), "--tolerate-outage", "3s");
    try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
      read(output, 3, CONFIRMED.asMatchPredicate());
      proxy.startOutage();
      assertEnd(process, output, 1);
    }
    assertThat(last()).startsWith("alluvium: ").contains("run the same command again");
    proxy.endOutage();
    assertResumes();
  }

  private static boolean isSlotPut(FaultPolicy.Request request) {
    return request.method().equals("PUT") && request.target().contains("/slots/");
  }

  /** Lines per second, so that the input lasts that long without an outage. */
  private String rate(int seconds) {
    return lines.size() / seconds + "/s";
  }

  /** There is input left when it is over and the longest pause of the uploads has passed. */
  private String rateBeyondOutage() {
    return rate((int) OUTAGE.toSeconds() + 20);
  }

  private Process start(String... more) throws IOException {
    List<String> arguments = Cli.wordCount(input, dir.resolve("out"), "200ms", more);
    // So that a checkpoint fails soon.
    arguments.addAll(List.of("--set", "dstl.dfs.upload.next-attempt-delay=50ms"));
    return new ProcessBuilder(job.through(proxy.endpoint()).command(arguments))
        .directory(dir.toFile())
        .redirectErrorStream(true)
        .start();
  }

  private void outage() throws InterruptedException {
    proxy.startOutage();
    Thread.sleep(OUTAGE.toMillis());
    proxy.endOutage();
  }

  private void read(BufferedReader output, int wanted, Predicate<String> isWanted)
      throws IOException {
    for (int found = 0; found < wanted; ) {
      String line = output.readLine();
      assertThat(line).as("the job ended: %s", said).isNotNull();
      said.add(line);
      found += isWanted.test(line) ? 1 : 0;
    }
  }

  private String last() {
    return said.get(said.size() - 1);
  }

  private void assertEnd(Process process, BufferedReader output, int status) throws Exception {
    output.lines().forEach(said::add);
    assertThat(process.waitFor()).as("%s", said).isEqualTo(status);
    assertThat(said).noneMatch(line -> line.startsWith("\tat "));
  }

  private void assertResumes() throws Exception {
    said.clear();
    Process process = start();
    try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
      assertEnd(process, output, 0);
    }
    assertThat(said).anyMatch(line -> line.startsWith("resuming from checkpoint "));
    assertExact();
  }

  private void assertExact() throws IOException {
    Map<String, Long> expected = Cli.recount(lines);
    assertThat(Cli.counts(dir.resolve("out"))).isEqualTo(expected);
    assertThat(Cli.partSums(dir.resolve("out"))).isEqualTo(expected);
  }
}
