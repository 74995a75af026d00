package io.alluvium.internal.settings;

import java.util.Collection;
import java.util.Locale;

/** What somebody may have meant by a name that does not exist. Stateless. */
public final class Suggestion {

  private Suggestion() {}

  /** {@code "; did you mean '...'?"}, or nothing when no candidate comes near. */
  public static String of(String name, Collection<String> candidates) {
    String lower = name.toLowerCase(Locale.ROOT);
    String nearest = "";
    int best = Math.max(3, name.length() / 2) + 1;
    for (String candidate : candidates) {
      int distance = distance(lower, candidate.toLowerCase(Locale.ROOT));
      if (distance < best) {
        best = distance;
        nearest = candidate;
      }
    }
    return nearest.isEmpty() ? "" : "; did you mean '" + nearest + "'?";
  }

  /** Levenshtein distance, two rows. */
  private static int distance(String a, String b) {
    int[] previous = new int[b.length() + 1];
    int[] current = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      previous[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      current[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int replace = previous[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        current[j] = Math.min(replace, 1 + Math.min(previous[j], current[j - 1]));
      }
      int[] swap = previous;
      previous = current;
      current = swap;
    }
    return previous[b.length()];
  }
}
