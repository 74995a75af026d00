package io.alluvium.testkit.script;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * Shortens a failing script by delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating
 * Failure-Inducing Input", 2002). Stateless.
 */
public final class ScriptReducer {

  private ScriptReducer() {}

  /**
   * Removes lines as long as the script still fails.
   *
   * @param fails whether a script still fails
   * @param runs maximum number of scripts to try
   */
  public static Script reduce(Script script, Predicate<Script> fails, int runs) {
    List<String> lines = new ArrayList<>(script.lines());
    int left = runs;
    int chunk = Math.max(1, lines.size() / 2);
    while (left > 0) {
      boolean shorter = false;
      for (int from = lines.size() - chunk; from > -chunk && left > 0; from -= chunk) {
        int start = Math.max(0, from);
        List<String> without = new ArrayList<>(lines);
        without.subList(start, from + chunk).clear();
        left--;
        if (fails.test(new Script(without))) {
          lines = without;
          shorter = true;
        }
      }
      if (chunk == 1 && !shorter) {
        break;
      }
      chunk = Math.max(1, Math.min(chunk / 2, lines.size() / 2));
    }
    return new Script(lines);
  }
}
