package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Mistakes that the command line alone shows. */
final class CommandLineTest {
  @TempDir Path dir;

  @Test
  void help_tellsTheCommands() {
    Cli.Result result = Cli.run("--help");
    assertThat(result.status()).isZero();
    assertThat(result.out()).contains("run", "checkpoints", "Exit status: 0 = ok");
  }

  @Test
  void help_ofAJob_tellsItsOptions() {
    Cli.Result result = Cli.run("run", "sliding-window", "--help");
    assertThat(result.status()).isZero();
    assertThat(result.out())
        .contains("--input", "--output", "--config", "--set", "--job-name", "--parallelism")
        .contains("--max-parallelism", "--checkpoint-interval", "--rate", "--fresh", "--summary")
        .contains("--key", "--time", "--value", "--window", "--slide", "--lateness")
        .contains("--on-bad-record");
  }

  @Test
  void mistakes_areUsage_oneSentence() throws Exception {
    Path text = Files.writeString(dir.resolve("a.txt"), "a\n");
    String[] good = {"run", "wordcount", "--input", text.toString(), "--output", dir + "/out"};
    assertUsage("Unknown option: '--frsh'", Cli.args(good, "--frsh"));
    assertUsage(
        "'5000x' must be a number of records per second", Cli.args(good, "--rate", "5000x"));
    assertUsage(
        "'0/s' must be a number of records per second above 0", Cli.args(good, "--rate", "0/s"));
    assertUsage("'10' must be a duration", Cli.args(good, "--checkpoint-interval", "10"));
    assertUsage(
        "--checkpoint-interval 0s must be at least 1ms",
        Cli.args(good, "--checkpoint-interval", "0s"));
    assertUsage(
        "--parallelism 0 must lie within 1 and 32768", Cli.args(good, "--parallelism", "0"));
    assertUsage("'two' is not a whole number", Cli.args(good, "--parallelism", "two"));
    assertUsage("--dir 'memory:' is the memory", "checkpoints", "list", "--dir", "memory:");
    assertUsage("'panic' must be fail or skip", Cli.args(good, "--on-bad-record", "panic"));
    assertUsage("unknown option 'colour' in --set", Cli.args(good, "--set", "colour=red"));
    assertUsage("Missing required option: '--output=DIR'", "run", "wordcount", "--input", "x");
    assertUsage("name the job to run", "run");
    assertUsage("name what to do", "checkpoints");
    assertUsage("unknown command 'dmeo'; there are demo, run, checkpoints", "dmeo");
    assertUsage("unknown command 'ls'; there are list, show, verify, gc", "checkpoints", "ls");
    assertThat(dir.resolve("out")).doesNotExist();
  }

  @Test
  void configFile_missing_isNamed() {
    Cli.Result result =
        Cli.run(
            "run",
            "wordcount",
            "--input",
            "x",
            "--output",
            dir + "/o",
            "--config",
            "nowhere.properties");
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.err())
        .isEqualTo(
            "alluvium: the configuration file 'nowhere.properties' cannot be read:"
                + " 'nowhere.properties' does not exist\n");
  }

  @Test
  void checkpointDirectory_missing_isNamed_andNotMade() {
    Path missing = dir.resolve("checkpoints");
    Cli.Result result = Cli.run("checkpoints", "list", "--dir", missing.toString());
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.err())
        .isEqualTo(
            "alluvium: the checkpoint directory '" + missing + "' does not exist; check --dir\n");
    assertThat(missing).doesNotExist();
  }

  private static void assertUsage(String message, String... args) {
    Cli.Result result = Cli.run(args);
    assertThat(result.err()).startsWith("alluvium: ").contains(message).doesNotContain("\tat ");
    assertThat(result.status()).as(result.err()).isEqualTo(2);
    assertThat(result.out()).isEmpty();
  }
}
