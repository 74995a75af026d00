package io.alluvium.flink.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The evaluation runs on every backend, and each of them is exact. */
final class FlinkEvaluationTest {

  @ParameterizedTest
  @EnumSource(Workload.class)
  void evaluation_small_isExactOnEveryBackend(Workload workload) throws Exception {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    Map<Contender, Measured> measured =
        FlinkEvaluation.run(
            new FlinkEvaluation.Plan(
                workload, 40_000, 500, 1, 20_000, 2, Duration.ofMillis(50), Duration.ofMillis(300)),
            new PrintStream(printed, true, StandardCharsets.UTF_8));
    assertThat(measured).containsOnlyKeys(Contender.values());
    assertThat(measured.values())
        .allSatisfy(
            run -> {
              assertThat(run.exact()).isTrue();
              assertThat(run.atFullSpeed()).isNotEmpty();
              assertThat(run.atPace()).isNotEmpty();
              assertThat(run.restoreMillis()).isNotNegative();
              // A record is an object at least, and no more than a few of its own size.
              assertThat(run.allocatedBytesPerRecord()).isBetween(24.0, 200_000.0);
            });
    assertThat(printed.toString(StandardCharsets.UTF_8)).doesNotContain("WRONG");
  }
}
