package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.kill.KillHarness;
import io.alluvium.testkit.kill.KillHarness.Round;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A process is closed while its tasks work: each gets {@code CLOSED}, and the JVM lives. In a JVM
 * of its own, whose crash is this test's failure.
 */
final class CloseUnderTaskTest {

  private static final int ROUNDS = Seeds.full() ? 200 : 12;

  @TempDir private Path directory;

  @ParameterizedTest
  @CsvSource({"rocksdb, WORK", "heap, WORK", "rocksdb, INTERRUPTED", "heap, INTERRUPTED"})
  void close_tasksAreInsideTheirTables_tellsEachOfThemClosed(
      String table, CloseRounds.Scenario scenario) {
    survives(program(table, scenario, ROUNDS));
  }

  /** To a table it is the same why the system refuses to write; a limit takes no mount. */
  @EnabledOnOs(value = OS.LINUX, disabledReason = "needs prlimit to make the disk refuse writes")
  @Test
  void close_oneSubtaskDiedOfAFullDisk_tellsTheOtherClosed() {
    Round round = survives(program("rocksdb", CloseRounds.Scenario.FULL_DISK, 1));
    assertThat(round.output()).anyMatch(line -> line.startsWith("subtask 1 failed"));
  }

  private List<String> program(String table, CloseRounds.Scenario scenario, int rounds) {
    return KillHarness.java(
        List.of("-Xmx512m", "-XX:-CreateCoredumpOnCrash"),
        CloseRounds.class.getName(),
        List.of(table, scenario.name(), String.valueOf(rounds), "1", directory.toString()));
  }

  private Round survives(List<String> command) {
    Round round =
        new KillHarness(
                command,
                directory,
                Pattern.compile("(\\d+)$a"),
                Duration.ofMinutes(10),
                new Random(1))
            .finish();
    assertThat(round.exitStatus()).as("%s", round).isZero();
    assertThat(round.output()).contains(CloseRounds.DONE);
    return round;
  }
}
