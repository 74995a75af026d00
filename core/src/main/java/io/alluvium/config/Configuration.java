package io.alluvium.config;

import io.alluvium.StateBackendException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Settings, checked once: every value parses and lies within its bounds, every required one is
 * there, every key in Alluvium's name spaces is known. Immutable.
 */
public final class Configuration {

  /**
   * Prefixes that belong to Alluvium; a key outside of them is left alone, so that a file may be
   * shared.
   */
  public static final List<String> NAME_SPACES = List.of("state.", "dstl.", "alluvium.", "s3.");

  private final Map<String, String> values;

  private Configuration(Map<String, String> values) {
    this.values = values;
  }

  /**
   * Checks {@code values} against {@code options}.
   *
   * @throws StateBackendException {@code INVALID}, with all problems at once, one a line
   */
  public static Configuration of(Map<String, String> values, Collection<Option<?>> options) {
    Map<String, Option<?>> known = new TreeMap<>();
    for (Option<?> option : options) {
      known.put(option.key(), option);
    }
    List<String> problems = new ArrayList<>();
    Map<String, String> checked = new LinkedHashMap<>();
    values.forEach(
        (key, text) -> {
          Option<?> option = known.get(key);
          if (option != null) {
            check(option, text, problems);
            checked.put(key, text);
          } else if (NAME_SPACES.stream().anyMatch(key::startsWith)) {
            problems.add(unknown(key, known.keySet()));
          }
        });
    for (Option<?> option : known.values()) {
      if (option.required() && !values.containsKey(option.key())) {
        problems.add("'" + option.key() + "' is not set: " + option.doc());
      }
    }
    if (!problems.isEmpty()) {
      throw StateBackendException.invalid(String.join("\n", problems));
    }
    return new Configuration(checked);
  }

  private static void check(Option<?> option, String text, List<String> problems) {
    try {
      Object unused = option.parser().apply(text);
    } catch (IllegalArgumentException e) {
      problems.add("the value '" + text + "' of '" + option.key() + "' " + e.getMessage());
    }
  }

  private static String unknown(String key, Collection<String> known) {
    String nearest = null;
    int best = Integer.MAX_VALUE;
    for (String candidate : known) {
      int distance = distance(key.toLowerCase(Locale.ROOT), candidate);
      if (distance < best) {
        best = distance;
        nearest = candidate;
      }
    }
    return "unknown option '"
        + key
        + "'"
        + (nearest == null || best > Math.max(3, key.length() / 2)
            ? ""
            : "; did you mean '" + nearest + "'?");
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

  /** The value of an option, or its default. */
  public <T> T get(Option<T> option) {
    String text = values.get(option.key());
    if (text == null) {
      text =
          option
              .defaultText()
              .orElseThrow(
                  () -> StateBackendException.invalid("'" + option.key() + "' is not set"));
    }
    return option.parser().apply(text);
  }

  /** Whether the user gave a value, as opposed to the default. */
  public boolean isSet(Option<?> option) {
    return values.containsKey(option.key());
  }

  /** The given values as text, by key. */
  public Map<String, String> asMap() {
    return Map.copyOf(values);
  }
}
