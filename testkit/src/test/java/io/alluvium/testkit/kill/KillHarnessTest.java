package io.alluvium.testkit.kill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.alluvium.testkit.kill.KillHarness.Moments;
import io.alluvium.testkit.kill.KillHarness.Round;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class KillHarnessTest {

  private static final Pattern CONFIRMED = Pattern.compile("checkpoint (\\d+) confirmed");

  @TempDir private Path directory;

  @Test
  void kill_thenFinish_keepsAcknowledgedCheckpoints() throws IOException {
    // Large enough that the program does not end before a late kill.
    KillHarness harness = harness(1_000_000, Duration.ofSeconds(60));
    long before = 0;
    for (int i = 0; i < 3; i++) {
      Round round = harness.kill(new Moments(30, Duration.ofMillis(20)));
      assertThat(round.killed()).as("%s", round).isTrue();
      assertThat(round.exitStatus()).isEqualTo(128 + 9);
      long survived = stored();
      if (!round.acknowledged().isEmpty()) {
        assertThat(round.acknowledged().get(0)).isEqualTo(before + 1);
        assertThat(survived).isBetween(last(round), last(round) + 1);
      }
      before = survived;
    }
    Round end = harness(before + 100, Duration.ofSeconds(60)).finish();
    assertThat(end.killed()).isFalse();
    assertThat(end.exitStatus()).isZero();
    assertThat(end.output().get(0)).isEqualTo("starts at " + before);
    assertThat(last(end)).isEqualTo(before + 100);
  }

  @Test
  void kill_programEndsBefore_isNotKilled() {
    Round round = harness(3, Duration.ofSeconds(60)).kill(new Moments(1, Duration.ofMinutes(10)));
    assertThat(round.killed()).isFalse();
    assertThat(round.acknowledged()).containsExactly(1L, 2L, 3L);
  }

  @Test
  void finish_hangingProgram_failsWithItsOutput() throws IOException {
    Throwable failure = new AssertionError();
    // On a slow machine a JVM may print nothing within two seconds.
    for (int seconds = 2; seconds <= 32 && !hasOutput(failure); seconds *= 4) {
      Files.deleteIfExists(directory.resolve("stored"));
      KillHarness harness = harness(1_000_000, Duration.ofSeconds(seconds));
      failure = catchThrowable(harness::finish);
      assertThat(failure)
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("did not end within");
    }
    assertThat(failure).hasMessageContaining("checkpoint 1 confirmed");
  }

  private static boolean hasOutput(Throwable failure) {
    return String.valueOf(failure.getMessage()).contains("checkpoint 1 confirmed");
  }

  private KillHarness harness(long limit, Duration timeout) {
    List<String> command =
        KillHarness.java(
            List.of("-Xmx32m", "-XX:TieredStopAtLevel=1"),
            "io.alluvium.testkit.kill.CountingChild",
            List.of(directory.resolve("stored").toString(), "" + limit));
    return new KillHarness(command, directory, CONFIRMED, timeout, new Random(5));
  }

  private long stored() throws IOException {
    Path stored = directory.resolve("stored");
    return Files.exists(stored) ? Long.parseLong(Files.readString(stored)) : 0;
  }

  private static long last(Round round) {
    return round.acknowledged().get(round.acknowledged().size() - 1);
  }
}
