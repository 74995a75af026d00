package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.testkit.kill.KillHarness;
import io.alluvium.testkit.s3.S3Server;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Values far larger than the direct memory of the JVM, up to the limit of a change; lists and files
 * beyond it. Written, checkpointed, verified and restored; what is beyond the limit is refused.
 */
final class LargeValuesTest {

  private static final Pattern NOTHING = Pattern.compile("(?!)");
  private static final int MB = 1 << 20;

  /** A value beside which a key of eight bytes finds room in a change. */
  private static final int NEARLY_256_MB = 256 * MB - 1024;

  @TempDir Path directory;

  /**
   * A TaskManager has 128 MB of direct memory beside its network buffers, for all slots. No buffer
   * there may grow with a value.
   */
  @ParameterizedTest
  @CsvSource({
    "rocksdb,log,file",
    "heap,log,file",
    "rocksdb,cut,file",
    "heap,cut,file",
    "rocksdb,materialized,file",
    "heap,materialized,s3"
  })
  void values_largerThanDirectMemory_areStoredAndRestored(String table, String mode, String store) {
    run("1g", store, "values", mode, 3, 40 * MB, table(table));
  }

  @ParameterizedTest
  @CsvSource({"rocksdb,materialized,file", "heap,log,s3"})
  void list_ofManyAppends_isStoredAndRestored(String table, String mode, String store) {
    run("1g", store, "list", mode, 60, MB, table(table));
  }

  /** docs/operations.md names the heap that this takes. */
  @ParameterizedTest
  @CsvSource({
    "rocksdb,log,file",
    "heap,log,file",
    "rocksdb,materialized,file",
    "heap,materialized,file",
    // One only: the server keeps its objects in the heap of this JVM.
    "rocksdb,materialized,s3"
  })
  @EnabledIfSystemProperty(
      named = "alluvium.full",
      matches = "true",
      disabledReason = "takes gigabytes of memory; run with -Pfull")
  void value_ofNearly256Mb_isStoredAndRestored(String table, String mode, String store) {
    run("2560m", store, "values-beyond", mode, 1, NEARLY_256_MB, table(table));
  }

  @ParameterizedTest
  @CsvSource({
    "rocksdb,log,file",
    "heap,log,file",
    "rocksdb,materialized,file",
    "heap,materialized,file"
  })
  @EnabledIfSystemProperty(
      named = "alluvium.full",
      matches = "true",
      disabledReason = "takes gigabytes of memory; run with -Pfull")
  void list_of300Mb_isStoredAndRestored(String table, String mode, String store) {
    run("3g", store, "list-beyond", mode, 300, MB, table(table));
  }

  /** One file beyond what an int can count: the whole table was in one write buffer. */
  @ParameterizedTest
  @CsvSource({"rocksdb,file", "heap,file"})
  @EnabledIfSystemProperty(
      named = "alluvium.full",
      matches = "true",
      disabledReason = "takes gigabytes of memory and disk; run with -Pfull")
  void tableFile_above2Gb_isStoredAndRestored(String table, String store) {
    Map<String, String> settings =
        table.equals("heap")
            ? table(table)
            : Map.of(
                "state.backend.type",
                table,
                "state.backend.rocksdb.writebuffer.size",
                "3gb",
                "state.backend.rocksdb.memory.fixed-per-tm",
                "8gb");
    run(table.equals("heap") ? "5g" : "2g", store, "values", "cut", 2_200, MB, settings);
    // The program tells the size of its largest table file.
    assertThat(largestFile).isGreaterThan(Integer.MAX_VALUE);
  }

  private long largestFile;

  private static Map<String, String> table(String table) {
    return Map.of("state.backend.type", table);
  }

  private void run(
      String heap,
      String store,
      String what,
      String mode,
      int values,
      int valueBytes,
      Map<String, String> settings) {
    List<String> options =
        new ArrayList<>(List.of("-Xmx" + heap, "-XX:MaxDirectMemorySize=32m", "-XX:+UseSerialGC"));
    List<String> arguments =
        new ArrayList<>(List.of(what, mode, String.valueOf(values), String.valueOf(valueBytes)));
    arguments.add("state.backend.rocksdb.localdir=" + directory.resolve("local"));
    settings.forEach((key, value) -> arguments.add(key + "=" + value));
    if (store.equals("s3")) {
      options.addAll(S3Server.credentialOptions());
      S3Server.get().settings().forEach((key, value) -> arguments.add(key + "=" + value));
      arguments.add("state.checkpoints.dir=" + S3Server.freshUri());
    } else {
      arguments.add("state.checkpoints.dir=" + directory.resolve("checkpoints").toUri());
    }
    KillHarness.Round round =
        new KillHarness(
                KillHarness.java(options, LargeValues.class.getName(), arguments),
                directory,
                NOTHING,
                Duration.ofMinutes(4),
                new Random(1))
            .finish();
    assertThat(round.exitStatus()).as("%s", round).isZero();
    assertThat(round.output()).contains("stored", "restored");
    largestFile =
        round.output().stream()
            .filter(line -> line.startsWith("largest table file "))
            .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
            .max()
            .orElse(0);
  }
}
