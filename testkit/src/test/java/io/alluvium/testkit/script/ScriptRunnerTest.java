package io.alluvium.testkit.script;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.script.PlainDeployment.Defect;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of the runner with backends that are models themselves. */
final class ScriptRunnerTest {

  private static final Matrix NOTHING_TO_SET = new Matrix(Map.of("unused.option", List.of("1")));

  static Stream<Long> seeds() {
    return Seeds.of(20);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void run_soundBackend_passes(long seed) {
    run(ScriptGenerator.make(seed, NOTHING_TO_SET, 150), Defect.NONE);
  }

  @Test
  void run_restoreOfAnOldCheckpoint_fails() {
    Script script =
        Script.parse(
            """
            value.update v x1
            checkpoint 1
            confirm 1
            value.update v x2
            kill
            restore into 2 subtasks   # the state of the beginning
            """);
    run(script, Defect.NONE);
    assertThatThrownBy(() -> run(script, new Defect(id -> 0L, "")))
        .hasMessageContaining("line 6 'restore into 2 subtasks'")
        .hasMessageContaining("checkpoint 0 was restored; it must be one of [1]");
  }

  @Test
  void run_missingKeys_failTheCheck() {
    Script script = Script.parse("list.add l x1\nkey k3\nmap.put m/n1 a=1\ncheck\n");
    run(script, Defect.NONE);
    assertThatThrownBy(() -> run(script, new Defect(id -> id, "keys")))
        .hasMessageContaining("line 4 'check'")
        .hasMessageContaining("l k0: [x1]")
        .hasMessageContaining("m/n1 k3: a=1");
  }

  @Test
  void run_reducedFailure_keepsTheRelevantLines() {
    Script script = ScriptGenerator.make(3, NOTHING_TO_SET, 150);
    Defect defect = new Defect(id -> id, "keys");
    Script reduced = ScriptReducer.reduce(script, each -> fails(each, defect), 500);
    assertThat(reduced.lines().size()).isBetween(1, 2);
  }

  private static boolean fails(Script script, Defect defect) {
    try {
      run(script, defect);
      return false;
    } catch (AssertionError e) {
      return true;
    }
  }

  private static void run(Script script, Defect defect) {
    try (PlainDeployment deployment = new PlainDeployment(defect)) {
      new ScriptRunner(deployment, script, 8).run();
    }
  }
}
