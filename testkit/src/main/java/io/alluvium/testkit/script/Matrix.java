package io.alluvium.testkit.script;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * Settings that must not affect the result of a job, with the values to try. Immutable.
 *
 * @param choices values by option; {@code ""} omits the option
 */
public record Matrix(Map<String, List<String>> choices) {

  public Matrix {
    choices = Map.copyOf(new TreeMap<>(choices));
  }

  /** Lines that set every option to some value. */
  public List<String> any(Random random) {
    List<String> lines = new ArrayList<>();
    for (String option : new TreeMap<>(choices).keySet()) {
      String line = set(option, random);
      if (!line.endsWith("=")) {
        lines.add(line);
      }
    }
    return lines;
  }

  /** A line that sets one option to some value. */
  String change(Random random) {
    List<String> options = List.copyOf(new TreeMap<>(choices).keySet());
    return set(options.get(random.nextInt(options.size())), random);
  }

  private String set(String option, Random random) {
    List<String> values = choices.getOrDefault(option, List.of());
    return "set " + option + "=" + values.get(random.nextInt(values.size()));
  }
}
