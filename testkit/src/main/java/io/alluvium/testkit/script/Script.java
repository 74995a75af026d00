package io.alluvium.testkit.script;

import java.util.ArrayList;
import java.util.List;

/**
 * A history of a job, one step a line. {@code #} starts a comment.
 *
 * <pre>
 *   set state.backend.type=heap              a setting, from the next start on
 *   key k3                                   selects the key
 *   value.update v x7 | value.clear v        v = state without, v/n2 = with namespace n2
 *   list.add l x | list.addAll l x,y | list.update l x,y | list.clear l
 *   map.put m a=1,b=2 | map.remove m a | map.sweep m | map.clear m
 *   reduce.add r x | reduce.clear r | agg.add a x | agg.clear a
 *   timer.register t n1 100 | timer.delete t n1 100 | timer.poll t
 *   checkpoint 4 | confirm 4 | abort 4 | materialize | gc | idle | sleep 3s
 *   kill | restore into 3 subtasks
 *   damage newest                            kills the job and damages its newest checkpoint, if the
 *                                            job may fall back
 *   fail after put data/* #2                 any rule of FaultRule
 *   heal                                     removes all rules
 *   check                                    everything readable must equal the model
 * </pre>
 *
 * Immutable.
 */
public record Script(List<String> lines) {

  public Script {
    lines = List.copyOf(lines);
  }

  public static Script parse(String text) {
    List<String> lines = new ArrayList<>();
    for (String line : text.lines().toList()) {
      String step = line.replaceFirst("#(?!\\d).*", "").trim();
      if (!step.isEmpty()) {
        lines.add(step);
      }
    }
    return new Script(lines);
  }

  /** Returns this script after the lines of {@code first}. */
  public Script after(List<String> first) {
    List<String> all = new ArrayList<>(first);
    all.addAll(lines);
    return new Script(all);
  }

  @Override
  public String toString() {
    return String.join("\n", lines) + "\n";
  }
}
