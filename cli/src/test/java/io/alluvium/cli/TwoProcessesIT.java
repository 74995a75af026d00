package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.testkit.kill.KillHarness;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What other processes, and the limits of the machine, do to a running job. */
final class TwoProcessesIT {
  /** Exit status of a script that may not mount. */
  private static final int NO_MOUNT = 97;

  @TempDir Path dir;
  private final List<Process> processes = new ArrayList<>();
  private Map<String, Long> expected = Map.of();
  private Path input;
  private Path output;

  @BeforeEach
  void setUp() throws IOException {
    input = dir.resolve("in.txt");
    output = dir.resolve("out");
    write(5_000);
  }

  private void write(int count) throws IOException {
    List<String> lines = WordCountRunTest.randomLines(new Random(9), count);
    expected = Cli.recount(lines);
    Files.write(input, lines, StandardCharsets.UTF_8);
  }

  @AfterEach
  void endProcesses() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void secondProcess_onTheSameJob_fencesTheFirst_andTheResultIsExact() throws Exception {
    // Slow enough not to finish before the second one takes over, however long that takes to start.
    Process first = start(List.of(), "--rate", "100/s");
    Said said = new Said(first);
    said.awaitCheckpoints(3);
    Process second = start(List.of());
    List<String> secondMessages = second.errorReader(StandardCharsets.UTF_8).lines().toList();
    assertThat(second.waitFor()).as("%s", secondMessages).isZero();

    List<String> messages = said.awaitEnd();
    assertThat(first.waitFor()).as("%s", messages).isEqualTo(1);
    assertThat(messages).noneMatch(line -> line.startsWith("\tat "));
    assertThat(messages.get(messages.size() - 1))
        .startsWith("alluvium: ")
        .containsPattern("taken over|took over");
    assertExact();
  }

  /**
   * What a process says, read as it comes: once the pipe is full, it would wait for its reader.
   * Guarded by itself.
   */
  private static final class Said {
    private final List<String> lines = new ArrayList<>();
    private final Thread reader;
    private int checkpoints;
    private boolean ended;

    Said(Process process) {
      BufferedReader from = process.errorReader(StandardCharsets.UTF_8);
      reader =
          new Thread(
              () -> {
                try {
                  from.lines().forEach(this::add);
                } finally {
                  end();
                }
              },
              "messages of " + process.pid());
      reader.setDaemon(true);
      reader.start();
    }

    private synchronized void add(String line) {
      lines.add(line);
      checkpoints += line.startsWith("checkpoint ") ? 1 : 0;
      notifyAll();
    }

    private synchronized void end() {
      ended = true;
      notifyAll();
    }

    synchronized List<String> all() {
      return List.copyOf(lines);
    }

    /** Waits for that many more checkpoints than there are now. */
    synchronized void awaitCheckpoints(int count) throws InterruptedException {
      int wanted = checkpoints + count;
      while (checkpoints < wanted) {
        assertThat(ended).as("%s", lines).isFalse();
        wait();
      }
    }

    List<String> awaitEnd() throws InterruptedException {
      reader.join();
      return all();
    }
  }

  /** Each would end the running job if it took it over before it looked. */
  @Test
  void mistypedCommands_leaveTheRunningJobAlone() throws Exception {
    Process running = start(List.of(), "--rate", "50/s");
    Said said = new Said(running);
    said.awaitCheckpoints(2);
    Path changed = Files.writeString(dir.resolve("changed.txt"), "something else\n");
    Path csv = Files.writeString(dir.resolve("in.csv"), "k,t,v\na,1,1\n");
    refused("this job has 128, not 64", input, "--max-parallelism", "64");
    refused("is more than --max-parallelism 128", input, "--parallelism", "129");
    refused("is more than --max-parallelism 128", input, "--parallelism", "129", "--fresh");
    refused("the input changed since the job started", changed);
    refused("belongs to the job 'wordcount'", input, "--job-name", "other");
    refused(
        "the local directory '/proc/alluvium-test' cannot be used",
        input,
        "--set",
        "state.backend.rocksdb.localdir=/proc/alluvium-test");
    String[] window = {
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
      "1h"
    };
    Cli.Result other = Cli.run(window);
    assertThat(other.sentence()).contains("the job 'wordcount' is a wordcount");

    // Printed before or after: the newest that is stored now must not stay the newest.
    long newest = newestCheckpoint();
    while (newestCheckpoint() == newest) {
      said.awaitCheckpoints(1);
    }
    assertThat(running.isAlive()).as("%s", said.all()).isTrue();
  }

  private long newestCheckpoint() {
    String listed =
        Cli.run("checkpoints", "list", "--dir", output + "/.alluvium/checkpoints").out();
    List<String> lines = listed.lines().toList();
    return Long.parseLong(lines.get(lines.size() - 1).split(" ", 2)[0]);
  }

  private void refused(String why, Path from, String... more) {
    Cli.Result result = Cli.run(Cli.wordCount(from, output, "100ms", more).toArray(String[]::new));
    assertThat(result.status()).as("%s", result).isNotZero();
    assertThat(result.sentence()).contains(why);
  }

  /** As near as a test comes to a full disk: no file may grow beyond a limit. */
  @Test
  void disk_full_isToldInOneSentence_andTheJobResumes() throws Exception {
    // Without native code, whose library would be the first file that is too large.
    Process limited =
        start(
            List.of("bash", "-c", "ulimit -f 24; exec \"$@\"", "limited"),
            "--set",
            "state.backend.type=heap",
            "--set",
            "dstl.dfs.upload.max-attempts=1");
    List<String> messages = limited.errorReader(StandardCharsets.UTF_8).lines().toList();
    assertThat(limited.waitFor()).as("%s", messages).isEqualTo(1);
    assertThat(messages).noneMatch(line -> line.startsWith("\tat "));
    assertThat(messages.get(messages.size() - 1))
        .startsWith("alluvium: ")
        .containsIgnoringCase("file too large")
        .contains("same command again");

    Process again = start(List.of());
    List<String> rest = again.errorReader(StandardCharsets.UTF_8).lines().toList();
    assertThat(again.waitFor()).as("%s", rest).isZero();
    assertExact();
  }

  /**
   * Everything on a file system of 1 MB: output, checkpoints and RocksDB's files. It stands in a
   * mount namespace that ends with the processes, and grows before the second one starts.
   */
  @Test
  void disk_fullForRocksDb_isToldInOneSentence_andTheJobResumes() throws Exception {
    Path disk = Files.createDirectory(dir.resolve("disk"));
    Path saved = Files.createDirectory(dir.resolve("saved"));
    output = disk;
    write(20_000);
    Path script =
        Files.writeString(
            dir.resolve("full.sh"),
            String.join(
                "\n",
                "mount -t tmpfs -o size=1m none '" + disk + "' || exit " + NO_MOUNT,
                "\"$@\" 2> '" + saved + "/first'; echo $? > '" + saved + "/status'",
                "mount -o remount,size=64m '" + disk + "' || exit 1",
                "\"$@\" 2> '" + saved + "/second' || exit 1",
                "cp '" + disk + "'/*.tsv '" + saved + "'"));
    String namespace =
        "unshare -m true 2> /dev/null && exec unshare -m \"$@\"; exec unshare -rm \"$@\"";
    Process both =
        start(
            List.of("bash", "-c", namespace, "namespace", "bash", script.toString()),
            "--set",
            "dstl.dfs.upload.max-attempts=1");
    List<String> said = both.errorReader(StandardCharsets.UTF_8).lines().toList();
    int status = both.waitFor();
    boolean mounted = Files.exists(saved.resolve("status"));
    if (!mounted) {
      String why = "a small file system cannot be mounted here (status " + status + "): " + said;
      System.err.println("SKIPPED: a full disk under RocksDB; " + why);
      Assumptions.abort(why);
    }
    assertThat(status).as("%s", said).isZero();
    assertThat(saved.resolve("status")).hasContent("1");
    List<String> messages = Files.readAllLines(saved.resolve("first"));
    assertThat(messages).noneMatch(line -> line.startsWith("\tat "));
    // Which of them comes first is a matter of time: RocksDB, a checkpoint or the output.
    assertThat(messages.get(messages.size() - 1))
        .startsWith("alluvium: ")
        .containsPattern("is full; free space|No space left on device; make room")
        .contains("same command again");
    assertThat(Files.readAllLines(saved.resolve("second")))
        .anyMatch(line -> line.startsWith("resuming from checkpoint "));
    output = saved;
    assertExact();
  }

  private void assertExact() throws IOException {
    assertThat(Cli.counts(output)).isEqualTo(expected);
    assertThat(Cli.partSums(output)).isEqualTo(expected);
  }

  private Process start(List<String> wrapper, String... more) throws IOException {
    List<String> command = new ArrayList<>(wrapper);
    List<String> arguments = Cli.wordCount(input, output, "100ms", more);
    command.addAll(
        KillHarness.java(
            List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            Alluvium.class.getName(),
            arguments));
    Process process =
        new ProcessBuilder(command)
            .directory(dir.toFile())
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    processes.add(process);
    return process;
  }
}
