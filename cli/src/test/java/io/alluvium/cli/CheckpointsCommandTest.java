package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code alluvium checkpoints}, over what a job left. */
final class CheckpointsCommandTest {
  @TempDir Path dir;
  private Path output;
  private Path store;
  private String[] command;

  @BeforeEach
  void runJob() throws IOException {
    Path input = dir.resolve("in.txt");
    Files.write(input, WordCountRunTest.randomLines(new Random(4), 2_000), StandardCharsets.UTF_8);
    runJob(input, 4_000);
    // When the first checkpoint took as long as the input, it and the last are all there are.
    for (int rate = 1_000; rate > 100 && ids(checkpoints("list")).size() < 3; rate /= 4) {
      runJob(input, rate);
    }
  }

  private void runJob(Path input, int rate) {
    output = dir.resolve("out-" + rate);
    store = output.resolve(".alluvium/checkpoints");
    command =
        new String[] {
          "run",
          "wordcount",
          "--input",
          input.toString(),
          "--output",
          output.toString(),
          "--set",
          "state.checkpoints.num-retained=3"
        };
    Cli.Result result =
        Cli.run(
            Cli.args(
                command,
                "--checkpoint-interval",
                "50ms",
                "--rate",
                rate + "/s",
                "--set",
                "state.backend.changelog.periodic-materialize.interval=100ms"));
    assertThat(result.status()).as(result.err()).isZero();
  }

  @Test
  void list_printsALineForEach_oldestFirst_beginningWithItsId() {
    Cli.Result list = checkpoints("list");
    assertThat(list.status()).as(list.err()).isZero();
    List<Long> ids = ids(list);
    assertThat(ids).hasSize(3).isSorted().doesNotHaveDuplicates();
    assertThat(list.out().lines()).hasSize(4).first().asString().startsWith("id ");
    assertThat(list.out()).contains("wordcount");
  }

  @Test
  void list_damagedManifest_isListedByItsBlobName() throws IOException {
    List<Long> ids = ids(checkpoints("list"));
    Path manifest = manifest(ids.get(1));
    flip(manifest);
    Cli.Result list = checkpoints("list");
    assertThat(list.status()).isEqualTo(1);
    assertThat(ids(list)).containsExactly(ids.get(0), ids.get(2));
    assertThat(list.out().lines().toList().get(2))
        .startsWith(store.relativize(manifest) + "  DAMAGED  ");
  }

  @Test
  void list_emptyDirectory_saysSo() throws IOException {
    Path empty = Files.createDirectory(dir.resolve("empty"));
    Cli.Result list = Cli.run("checkpoints", "list", "--dir", empty.toString());
    assertThat(list.status()).isZero();
    assertThat(list.out()).isEmpty();
    assertThat(list.err()).isEqualTo("no checkpoints in '" + empty + "'\n");
  }

  @Test
  void list_directoryOfSomethingElse_isRefused() {
    Cli.Result list = Cli.run("checkpoints", "list", "--dir", output.toString());
    assertThat(list.status()).isEqualTo(1);
    assertThat(list.err())
        .contains("'" + output + "' is no checkpoint directory", "did you mean '" + store + "'?");
    Cli.Result other = Cli.run("checkpoints", "verify", "1", "--dir", dir.toString());
    assertThat(other.status()).isEqualTo(1);
    assertThat(other.err()).contains("'" + dir + "' is no checkpoint directory", "check --dir");
  }

  @Test
  void show_tellsSubtasksStatesAndMetadata() {
    Cli.Result show = checkpoints("show", Long.toString(newest()));
    assertThat(show.status()).as(show.err()).isZero();
    assertThat(show.out())
        .contains("job              wordcount", "[0, 64)", "[64, 128)", "count", "value", "int64")
        .contains("\"kind\" : \"wordcount\"", "\"finished\" : true");
  }

  @Test
  void showAndVerify_latest_takeTheNewest_andNoOlderOneWhenThatIsDamaged() throws IOException {
    long newest = newest();
    assertThat(checkpoints("show", "latest").out())
        .isEqualTo(checkpoints("show", Long.toString(newest)).out())
        .contains("checkpoint       " + newest + "\n");
    assertThat(checkpoints("verify", "LATEST").out()).contains("checkpoint " + newest + " and all");
    Cli.Result mistyped = checkpoints("show", "lastest");
    assertThat(mistyped.status()).isEqualTo(2);
    assertThat(mistyped.err()).contains("'lastest'", "'latest'", "checkpoints list");

    flip(manifest(newest));
    for (String name : new String[] {"show", "verify"}) {
      Cli.Result damaged = checkpoints(name, "latest");
      assertThat(damaged.status()).as(name).isEqualTo(1);
      assertThat(damaged.sentence()).contains("newest checkpoint", "is damaged at offset", "list");
    }
    Path empty = Files.createDirectories(dir.resolve("none"));
    Cli.Result none = Cli.run("checkpoints", "verify", "latest", "--dir", empty.toString());
    assertThat(none.status()).isEqualTo(1);
    assertThat(none.sentence()).contains("no checkpoint in '" + empty + "'");
  }

  @Test
  void showAndVerify_unknownId_areRefused() {
    for (String name : new String[] {"show", "verify"}) {
      Cli.Result result = checkpoints(name, "4711");
      assertThat(result.status()).as(name).isEqualTo(1);
      assertThat(result.sentence()).contains("4711");
    }
  }

  @Test
  void verify_aCopiedDirectory_isSound() throws IOException {
    Path copy = dir.resolve("copy");
    try (Stream<Path> files = Files.walk(store)) {
      for (Path file : files.toList()) {
        Files.copy(file, copy.resolve(store.relativize(file).toString()));
      }
    }
    Cli.Result verify =
        Cli.run("checkpoints", "verify", Long.toString(newest()), "--dir", copy.toUri().toString());
    assertThat(verify.status()).as(verify.out() + verify.err()).isZero();
    assertThat(verify.out()).contains("sound");
  }

  @Test
  void gc_deletesWhatNothingReaches_andDryRunDoesNot() throws IOException {
    Path stray = stray();
    String name = store.relativize(stray).toString();
    Cli.Result dry = checkpoints("gc", "--dry-run", "--grace", "0s");
    assertThat(dry.out()).contains(name, "would delete 1 blob, 3 B");
    assertThat(stray).exists();
    Cli.Result spared = checkpoints("gc");
    assertThat(spared.err()).isEmpty();
    assertThat(spared.out()).contains("deleted 0 blobs, 0 B", "may need them: 1 blob");
    assertThat(stray).exists();
    assertThat(checkpoints("gc", "--dry-run", "--grace", "29m").err())
        .contains("warning: a job that still runs and has stored nothing for 29m loses what")
        .contains("its next checkpoint is damaged; stop the job first");
    Cli.Result gc = checkpoints("gc", "--grace", "0s");
    assertThat(gc.err()).contains("warning: a job that still runs loses what no checkpoint names");
    assertThat(gc.status()).as(gc.err()).isZero();
    assertThat(gc.out()).contains(name, "deleted 1 blob, 3 B");
    assertThat(stray).doesNotExist();
    assertThat(checkpoints("verify", Long.toString(newest())).status()).isZero();
  }

  @Test
  void gc_retiresCheckpoints_onlyWhenToldHowManyStay() {
    List<Long> ids = ids(checkpoints("list"));
    assertThat(checkpoints("gc", "--grace", "0s").status()).isZero();
    assertThat(ids(checkpoints("list"))).isEqualTo(ids);
    String setting = "state.checkpoints.num-retained=2";
    Cli.Result gc = checkpoints("gc", "--grace", "0s", "--set", setting);
    assertThat(gc.out()).as(gc.err()).contains("slots/");
    assertThat(ids(checkpoints("list"))).isEqualTo(ids.subList(1, 3));
    assertThat(checkpoints("gc", "--grace", "0s", "--retain", "1", "--set", setting).status())
        .isZero();
    assertThat(ids(checkpoints("list"))).isEqualTo(ids.subList(2, 3));
    assertThat(checkpoints("verify", Long.toString(ids.get(2))).status()).isZero();
    Cli.Result none = checkpoints("gc", "--retain", "0");
    assertThat(none.status()).isEqualTo(2);
    assertThat(none.err()).contains("--retain must be at least 1");
  }

  @Test
  void run_newestDamaged_needsAWordToFallBack_andFreshStartsOver() throws IOException {
    List<Long> ids = ids(checkpoints("list"));
    flip(manifest(newest()));
    Cli.Result refused = Cli.run(command);
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.sentence())
        .contains("is damaged at offset", "expected", "found", "put a sound copy back")
        .contains("--set alluvium.restore.fallback=true, or start over with --fresh");

    Cli.Result older = Cli.run(Cli.args(command, "--set", "alluvium.restore.fallback=true"));
    assertThat(older.status()).as(older.err()).isZero();
    assertThat(older.err()).contains("resuming from checkpoint " + ids.get(1) + ":");
    var counts = Cli.counts(output);

    flip(manifest(newest()));
    Cli.Result fresh = Cli.run(Cli.args(command, "--fresh"));
    assertThat(fresh.status()).as(fresh.err()).isZero();
    assertThat(Cli.counts(output)).isEqualTo(counts).isEqualTo(Cli.partSums(output));
    assertThat(ids(checkpoints("list"))).allMatch(id -> id > ids.get(2));
    assertThat(checkpoints("list").status()).isZero();
    Cli.Result verify = checkpoints("verify", Long.toString(newest()));
    assertThat(verify.status()).as(verify.out()).isZero();
    assertThat(verify.out().lines())
        .as("slots that cannot be read stay, without alarm")
        .filteredOn(line -> line.startsWith("blob 'slots/"))
        .hasSize(2)
        .allMatch(line -> line.contains("--fresh or a fallback went on without it"));
  }

  @Test
  void run_dataDamaged_namesTheBlob() throws IOException {
    List<Path> damaged;
    try (Stream<Path> files = Files.walk(store.resolve("data"))) {
      damaged = files.filter(Files::isRegularFile).toList();
    }
    for (Path file : damaged) {
      flip(file);
    }
    Cli.Result refused = Cli.run(command);
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.sentence())
        .contains("blob 'data/", "expected", "found", "put a sound copy back");
  }

  /** A blob of the newest owner that no manifest names. */
  private Path stray() throws IOException {
    String show = checkpoints("show", Long.toString(newest())).out();
    String incarnation = show.replaceAll("(?s).*incarnation +(\\S+)\n.*", "$1");
    Path stray = store.resolve("data/" + incarnation + "/00000000ffffffff.table");
    Files.createDirectories(stray.getParent());
    return Files.writeString(stray, "xyz");
  }

  private Cli.Result checkpoints(String... args) {
    String[] all = Cli.args(new String[] {"checkpoints"}, args);
    return Cli.run(Cli.args(all, "--dir", store.toString()));
  }

  private long newest() {
    List<Long> ids = ids(checkpoints("list"));
    return ids.get(ids.size() - 1);
  }

  private Path manifest(long id) {
    String show = checkpoints("show", Long.toString(id)).out();
    return store.resolve(show.replaceAll("(?s).*manifest +(slots/\\S+) .*", "$1"));
  }

  private static List<Long> ids(Cli.Result list) {
    return list.out()
        .lines()
        .filter(line -> Character.isDigit(line.charAt(0)))
        .map(line -> Long.parseLong(line.substring(0, line.indexOf(' '))))
        .toList();
  }

  private static void flip(Path file) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    bytes[bytes.length / 2] ^= 1;
    Files.write(file, bytes);
  }
}
