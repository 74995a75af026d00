package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import io.alluvium.testkit.kill.KillHarness;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Several processes keep their tables below one local directory. This JVM is the one whose tables
 * are in danger: it goes on writing after others came and went.
 */
final class SharedLocalDirectoryIT {

  private static final int MAX_PARALLELISM = 16;
  private static final KeyGroupRange ALL = new KeyGroupRange(0, MAX_PARALLELISM);

  /** 64 KB, the least that RocksDB's write buffers may have. */
  private static final int BUFFER_BYTES = 64 << 10;

  private static final int VALUE_BYTES = 1 << 10;

  /** Eight buffers: what is written after the others have gone must be flushed to files. */
  private static final int KEYS = 8 * BUFFER_BYTES / VALUE_BYTES;

  @TempDir Path dir;

  @Test
  void tables_ofARunningProcess_surviveOthersThatOpenRestoreAndLook() throws Exception {
    Path local = dir.resolve("local");
    String[] other = otherJob(local);
    assertThat(Cli.run(other).status()).isZero();
    Map<String, String> settings =
        Map.of(
            "state.checkpoints.dir",
            dir.resolve("checkpoints").toUri().toString(),
            "state.backend.rocksdb.localdir",
            local.toString(),
            "state.backend.rocksdb.writebuffer.size",
            BUFFER_BYTES + " b",
            "state.backend.changelog.periodic-materialize.interval",
            "0");
    try (StateBackend backend = StateBackend.open(settings);
        KeyedBackend<Long> keyed = open(backend)) {
      ValueState<String> values = values(keyed);
      write(keyed, values, "first ");
      commit(backend, keyed, 1);
      List<Path> tables = tables(local);
      assertThat(tables).isNotEmpty();

      // In this process, then in two others, one of which only looks.
      assertThat(Cli.run(other).status()).isZero();
      runElsewhere(List.of(other));
      runElsewhere(
          List.of(
              "checkpoints",
              "list",
              "--dir",
              dir.resolve("checkpoints").toString(),
              "--set",
              "state.backend.rocksdb.localdir=" + local));

      assertThat(tables(local)).isEqualTo(tables);
      write(keyed, values, "second ");
      commit(backend, keyed, 2);
    }
    assertThat(Cli.counts(dir.resolve("out"))).isEqualTo(Map.of("a", 2L, "b", 1L));
    assertThat(tables(local)).isEmpty();
    try (StateBackend backend = StateBackend.open(settings);
        KeyedBackend<Long> keyed = open(backend)) {
      ValueState<String> values = values(keyed);
      for (long key = 0; key < KEYS; key++) {
        keyed.setCurrentKey(key);
        assertThat(values.value()).isEqualTo(text("second ", key));
      }
    }
  }

  @Test
  void commandsThatOnlyLook_makeNoLocalDirectory() throws IOException {
    assertThat(Cli.run(otherJob(dir.resolve("local"))).status()).isZero();
    Path untouched = dir.resolve("untouched");
    String checkpoints = dir.resolve("out/.alluvium/checkpoints").toString();
    String listed = Cli.run("checkpoints", "list", "--dir", checkpoints).out();
    String id = listed.lines().skip(1).findFirst().orElseThrow().split(" ", 2)[0];
    List<List<String>> commands =
        List.of(List.of("list"), List.of("show", id), List.of("verify", id), List.of("gc"));
    for (List<String> command : commands) {
      List<String> arguments = new ArrayList<>(List.of("checkpoints"));
      arguments.addAll(command);
      arguments.addAll(
          List.of("--dir", checkpoints, "--set", "state.backend.rocksdb.localdir=" + untouched));
      Cli.Result result = Cli.run(arguments.toArray(String[]::new));
      assertThat(result.status()).as("%s: %s", command, result).isZero();
      assertThat(untouched).as("%s", command).doesNotExist();
    }
  }

  /** A finished job: to run it again restores it, opens its tables and closes them. */
  private String[] otherJob(Path local) throws IOException {
    Path input = Files.writeString(dir.resolve("in.txt"), "a b a\n");
    return Cli.wordCount(
            input,
            dir.resolve("out"),
            "1s",
            "--parallelism",
            "2",
            "--set",
            "state.backend.rocksdb.localdir=" + local)
        .toArray(String[]::new);
  }

  private static KeyedBackend<Long> open(StateBackend backend) {
    List<CheckpointHandle> handles =
        backend.catalog().takeOver("values").map(Checkpoint::handles).orElse(List.of());
    return backend.keyed(Serializers.int64(), MAX_PARALLELISM, ALL, handles, RestoreMode.REUSE);
  }

  private static ValueState<String> values(KeyedBackend<Long> keyed) {
    return keyed.state(StateDescriptor.value("value", Serializers.string()));
  }

  private static void write(KeyedBackend<Long> keyed, ValueState<String> values, String prefix) {
    for (long key = 0; key < KEYS; key++) {
      keyed.setCurrentKey(key);
      values.update(text(prefix, key));
    }
  }

  private static String text(String prefix, long key) {
    return (prefix + key + " ").repeat(VALUE_BYTES / prefix.length());
  }

  private static void commit(StateBackend backend, KeyedBackend<Long> keyed, long id) {
    CheckpointHandle handle = keyed.checkpoint(id).join();
    backend.catalog().commit(id, List.of(handle), new byte[0]);
    keyed.confirm(id);
  }

  private static List<Path> tables(Path local) throws IOException {
    try (Stream<Path> entries = Files.list(local)) {
      return entries.sorted().toList();
    }
  }

  private void runElsewhere(List<String> arguments) throws Exception {
    List<String> command =
        new ArrayList<>(
            KillHarness.java(
                List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
                Alluvium.class.getName(),
                arguments));
    Path said = dir.resolve("said.txt");
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile()).start();
    try {
      assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
      assertThat(process.exitValue()).as(Files.readString(said, StandardCharsets.UTF_8)).isZero();
    } finally {
      process.destroyForcibly();
    }
  }
}
