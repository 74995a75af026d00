package io.alluvium.flink.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The jobs run on every backend, and each gives all of its results. */
final class TtlEvaluationTest {

  @ParameterizedTest
  @EnumSource(TtlEvaluation.Shape.class)
  void evaluation_small_isExactOnEveryBackend(TtlEvaluation.Shape shape) throws Exception {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    assertThat(
            TtlEvaluation.run(
                new TtlEvaluation.Plan(
                    shape, 4_000, 500, 1, Duration.ofHours(1), Duration.ofMillis(200)),
                new PrintStream(printed, true, StandardCharsets.UTF_8)))
        .containsOnlyKeys(TtlEvaluation.Runner.values());
    assertThat(printed.toString(StandardCharsets.UTF_8)).contains("median");
  }

  @Test
  void accesses_small_areComparedOnBoth() throws Exception {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    TtlAccessEvaluation.run(100, 4, new PrintStream(printed, true, StandardCharsets.UTF_8));
    assertThat(printed.toString(StandardCharsets.UTF_8).lines()).hasSize(4);
  }
}
