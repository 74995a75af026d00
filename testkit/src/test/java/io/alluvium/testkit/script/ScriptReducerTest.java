package io.alluvium.testkit.script;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class ScriptReducerTest {

  private static final Script LONG =
      new Script(IntStream.range(0, 97).mapToObj(i -> "key k" + i).toList());

  @Test
  void reduce_threeLinesMatter_keepsOnlyThose() {
    List<String> matter = List.of("key k3", "key k50", "key k96");
    Script reduced =
        ScriptReducer.reduce(LONG, script -> script.lines().containsAll(matter), 10_000);
    assertThat(reduced.lines()).isEqualTo(matter);
  }

  @Test
  void reduce_everyLineMatters_keepsAll() {
    assertThat(ScriptReducer.reduce(LONG, LONG::equals, 10_000)).isEqualTo(LONG);
  }

  @Test
  void reduce_nothingMatters_isEmpty() {
    assertThat(ScriptReducer.reduce(LONG, script -> true, 10_000).lines()).isEmpty();
  }

  @Test
  void reduce_boundedRuns_stopsAtTheBound() {
    AtomicInteger runs = new AtomicInteger();
    Script reduced =
        ScriptReducer.reduce(
            LONG,
            script -> {
              runs.incrementAndGet();
              return script.lines().contains("key k50");
            },
            5);
    assertThat(runs).hasValue(5);
    assertThat(reduced.lines()).contains("key k50").hasSizeLessThan(97);
  }

  @Test
  void generate_sameSeed_sameScript() {
    Matrix matrix = new Matrix(java.util.Map.of("state.backend.type", List.of("heap", "rocksdb")));
    Script script = ScriptGenerator.make(7, matrix, 200);
    assertThat(script).isEqualTo(ScriptGenerator.make(7, matrix, 200));
    assertThat(script).isNotEqualTo(ScriptGenerator.make(8, matrix, 200));
    assertThat(Script.parse(script.toString())).isEqualTo(script);
  }
}
