package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What bad input gets: a non-zero exit status and one sentence that names the thing and the remedy;
 * and what was durable before is there afterwards.
 */
final class RefusalsTest {
  @TempDir Path dir;
  private Path input;
  private Path output;
  private String checkpoints;
  private String[] command;

  @BeforeEach
  void setUp() throws IOException {
    input = dir.resolve("in.txt");
    output = dir.resolve("out");
    checkpoints = output + "/.alluvium/checkpoints";
    command =
        new String[] {
          "run", "wordcount", "--input", input.toString(), "--output", output.toString()
        };
    Files.writeString(input, "a b a\n");
  }

  @Test
  void input_missing() throws IOException {
    Files.delete(input);
    assertRefused(1, "input '" + input + "' does not exist; check --input", command);
  }

  @Test
  void input_isADevice() {
    assertRefused(
        1,
        "input '/dev/null' is not a regular file",
        "run",
        "wordcount",
        "--input",
        "/dev/null",
        "--output",
        output.toString());
  }

  @Test
  void output_isAFile() throws IOException {
    Files.writeString(output, "x");
    assertRefused(1, "the output '" + output + "' is a file, not a directory; choose", command);
    assertThat(output).hasContent("x");
  }

  @Test
  void output_cannotBeWritten() {
    // Nobody may make a directory there, not even root.
    assertRefused(
        1,
        "the output directory '/proc/out' cannot be made in '/proc'; allow it there, or choose"
            + " another --output",
        "run",
        "wordcount",
        "--input",
        input.toString(),
        "--output",
        "/proc/out");
  }

  @Test
  void summary_inAMissingDirectory_isRefusedAtTheStart() {
    Path summary = dir.resolve("missing/summary.json");
    assertRefused(
        1,
        "the directory '" + summary.getParent() + "' of --summary does not exist; make it",
        Cli.args(command, "--summary", summary.toString()));
    assertRefused(
        1,
        "--summary '" + dir + "' is a directory; name a file",
        Cli.args(command, "--summary", dir.toString()));
    assertThat(output).doesNotExist();
  }

  @Test
  void ids_thatAreNoNumbers_areUsage() {
    for (String verb : List.of("verify", "show")) {
      Cli.Result result = Cli.run("checkpoints", verb, "x", "--dir", dir.toString());
      assertThat(result.status()).isEqualTo(2);
      assertThat(result.err())
          .startsWith(
              "alluvium: 'x' is neither the id of a checkpoint nor 'latest'; 'alluvium checkpoints list' shows those");
    }
  }

  @Test
  void checkpoints_inMemory_areWarnedAbout() {
    String message = "keeps checkpoints in the memory of this process: when it ends, they are gone";
    for (String setting :
        List.of("state.checkpoints.dir=memory:", "state.backend.changelog.storage=memory")) {
      Cli.Result result = Cli.run(Cli.args(command, "--fresh", "--set", setting));
      assertThat(result.status()).as(result.err()).isZero();
      assertThat(result.err()).contains("warning: " + setting + " " + message);
    }
    assertThat(Cli.run(Cli.args(command, "--fresh")).err()).doesNotContain("warning");
  }

  @Test
  void option_unknown_isRefusedWithASuggestion() {
    assertRefused(
        2,
        "unknown option 'state.backend.tpye'; did you mean 'state.backend.type'?",
        Cli.args(command, "--set", "state.backend.tpye=heap"));
  }

  @Test
  void option_outOfRange_namesTheRange() {
    assertRefused(
        2,
        "the value '0' of 'state.checkpoints.num-retained' must lie within 1 and",
        Cli.args(command, "--set", "state.checkpoints.num-retained=0"));
  }

  @Test
  void options_severalProblems_areToldAtOnce() throws IOException {
    Path config = dir.resolve("a.properties");
    Files.writeString(
        config,
        "state.checkpoints.num-retained=0\nstate.backend.local-recovery=perhaps\nacme.own=1\n");
    Cli.Result result = Cli.run(Cli.args(command, "--config", config.toString()));
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.err())
        .contains("'state.checkpoints.num-retained'", "'state.backend.local-recovery'")
        .doesNotContain("acme");
  }

  @Test
  void directory_ofAnotherJob() {
    finish();
    assertRefused(
        1,
        "'wordcount'",
        Cli.args(
            new String[] {
              "run", "wordcount", "--input", input.toString(), "--output", dir + "/other"
            },
            "--job-name",
            "other",
            "--set",
            "state.checkpoints.dir=" + checkpoints));
    assertStillThere();
  }

  @Test
  void outputDirectory_ofAnotherJob() {
    finish();
    assertRefused(
        1,
        "belongs to the job 'wordcount', this one is 'other'; choose another --output",
        Cli.args(command, "--job-name", "other"));
    assertStillThere();
  }

  @Test
  void directory_ofAnotherKindOfJob() throws IOException {
    finish();
    Path csv = Files.writeString(dir.resolve("in.csv"), "k,t,v\na,1,1\n");
    assertRefused(
        1,
        "the job 'wordcount' is a wordcount, not a sliding-window",
        "run",
        "sliding-window",
        "--job-name",
        "wordcount",
        "--input",
        csv.toString(),
        "--output",
        output.toString(),
        "--key",
        "k",
        "--time",
        "t",
        "--value",
        "v",
        "--window",
        "1h",
        "--slide",
        "1h");
    assertStillThere();
  }

  @Test
  void input_changed() throws IOException {
    finish();
    Files.writeString(input, "a b b\n");
    assertRefused(1, "the input changed since the job started: the content of input file", command);
    Files.writeString(input, "a b a\nmore\n");
    assertRefused(1, "had 6 bytes, now it has 11", command);
    Files.writeString(input, "a b a\n");
    assertStillThere();
  }

  @Test
  void maxParallelism_changed() {
    finish();
    assertRefused(
        1,
        "--max-parallelism is fixed at the first start: this job has 128, not 64",
        Cli.args(command, "--max-parallelism", "64"));
    assertRefused(
        2,
        "--parallelism 129 is more than --max-parallelism 128",
        Cli.args(command, "--parallelism", "129"));
    assertStillThere();
  }

  @Test
  void output_withoutItsCheckpoints() throws IOException {
    finish();
    DemoFiles.deleteTree(Path.of(checkpoints));
    assertRefused(1, "holds output (part-", command);
    assertThat(Cli.run(Cli.args(command, "--fresh")).status()).isZero();
    assertStillThere();
  }

  @Test
  void columns_missing() throws IOException {
    Path csv = Files.writeString(dir.resolve("in.csv"), "k,t,v\na,1,1\n");
    assertRefused(
        1,
        "--value names the column 'w', which '" + csv + "' does not have; its columns are k, t, v",
        "run",
        "sliding-window",
        "--input",
        csv.toString(),
        "--output",
        output.toString(),
        "--key",
        "k",
        "--time",
        "t",
        "--value",
        "w",
        "--window",
        "1h",
        "--slide",
        "1h");
    assertThat(output).doesNotExist();
  }

  /** Every blob in turn: first a byte too few, then one bit changed. */
  @Test
  void blob_truncatedOrFlipped_isNamed_byRunAndByVerify() throws IOException {
    Files.write(input, WordCountRunTest.randomLines(new Random(5), 300), StandardCharsets.UTF_8);
    finish();
    Path store = Path.of(checkpoints);
    String id = newestId();
    assertThat(Cli.run("checkpoints", "verify", id, "--dir", checkpoints).status()).isZero();
    List<Path> blobs = blobs(store);
    Path manifest = newestManifest();
    assertThat(blobs).contains(manifest).hasSizeGreaterThanOrEqualTo(3);
    for (Path blob : blobs) {
      byte[] sound = Files.readAllBytes(blob);
      String name = store.relativize(blob).toString();
      // Of all slots a restore reads only the newest manifest, of a segment only the blocks.
      boolean needed = blob.equals(manifest) || !name.startsWith("slots/");
      byte[] shorter = java.util.Arrays.copyOf(sound, sound.length - 1);
      byte[] flipped = sound.clone();
      flipped[sound.length / 2] ^= 4;
      for (byte[] damaged : List.of(shorter, flipped)) {
        Files.write(blob, damaged);
        Cli.Result verify = Cli.run("checkpoints", "verify", id, "--dir", checkpoints);
        assertThat(verify.status()).as("%s: %s", blob, verify).isEqualTo(1);
        assertThat(verify.out()).contains(name);
        assertThat(verify.err()).doesNotContain("\tat ");
        Cli.Result run = Cli.run(command);
        boolean read = needed && (damaged == flipped || !name.endsWith(".log"));
        assertThat(run.status()).as("%s: %s", name, run).isEqualTo(read ? 1 : 0);
        if (read) {
          assertThat(run.sentence()).contains("blob '" + name + "'", "or start over with --fresh");
        }
        Files.write(blob, sound);
      }
    }
    assertStillThere();
  }

  @Test
  void manifest_ofANewerFormat() throws IOException {
    finish();
    Path manifest = newestManifest();
    byte[] bytes = Files.readAllBytes(manifest);
    // The version follows the magic of eight bytes, the checksum comes last:
    // docs/formats/manifest.md.
    byte[] newer = bytes.clone();
    newer[9] = 99;
    CRC32C crc = new CRC32C();
    crc.update(newer, 0, newer.length - 4);
    ByteBuffer.wrap(newer).putInt(newer.length - 4, (int) crc.getValue());
    Files.write(manifest, newer);
    Cli.Result result = Cli.run(command);
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.sentence()).containsIgnoringCase("version");
    Files.write(manifest, bytes);
    assertStillThere();
  }

  private void finish() {
    Cli.Result result = Cli.run(command);
    assertThat(result.status()).as(result.err()).isZero();
  }

  /** The same command goes on where the job was, with all its output. */
  private void assertStillThere() {
    Cli.Result result = Cli.run(command);
    assertThat(result.status()).as(result.err()).isZero();
    try {
      assertThat(Cli.counts(output))
          .isEqualTo(Cli.recount(Files.readAllLines(input, StandardCharsets.UTF_8)))
          .isEqualTo(Cli.partSums(output));
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private static void assertRefused(int status, String message, String... args) {
    Cli.Result result = Cli.run(args);
    assertThat(result.sentence()).contains(message);
    assertThat(result.status()).isEqualTo(status);
  }

  private String newestId() {
    return Cli.run("checkpoints", "list", "--dir", checkpoints)
        .out()
        .lines()
        .filter(line -> Character.isDigit(line.charAt(0)))
        .map(line -> line.substring(0, line.indexOf(' ')))
        .reduce((first, second) -> second)
        .orElseThrow();
  }

  private Path newestManifest() {
    String show = Cli.run("checkpoints", "show", newestId(), "--dir", checkpoints).out();
    String name = show.replaceAll("(?s).*manifest +(\\S+) .*", "$1");
    return Path.of(checkpoints).resolve(name);
  }

  private static List<Path> blobs(Path store) throws IOException {
    try (java.util.stream.Stream<Path> walk = Files.walk(store)) {
      return walk.filter(Files::isRegularFile).sorted().toList();
    }
  }
}
