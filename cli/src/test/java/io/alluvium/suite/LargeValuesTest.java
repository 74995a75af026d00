package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.testkit.kill.KillHarness;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Values far larger than the direct memory of the JVM: written, checkpointed and restored. */
final class LargeValuesTest {

  private static final Pattern NOTHING = Pattern.compile("(?!)");

  @TempDir Path directory;

  /**
   * A TaskManager has 128 MB of direct memory beside its network buffers, for all slots. No buffer
   * there may grow with a value.
   */
  @ParameterizedTest
  @CsvSource({"rocksdb,true", "heap,true", "rocksdb,false", "heap,false"})
  void values_largerThanDirectMemory_areStoredAndRestored(String table, String changelog) {
    List<String> arguments =
        List.of(directory.toString(), table, changelog, "4", String.valueOf(40 << 20));
    KillHarness.Round round =
        new KillHarness(
                KillHarness.java(
                    List.of("-Xmx1g", "-XX:MaxDirectMemorySize=32m", "-XX:+UseSerialGC"),
                    LargeValues.class.getName(),
                    arguments),
                directory,
                NOTHING,
                Duration.ofMinutes(4),
                new Random(1))
            .finish();
    assertThat(round.exitStatus()).as("%s", round).isZero();
    assertThat(round.output()).contains("stored", "restored");
  }
}
