package io.alluvium.config;

import io.alluvium.StateBackendException;
import io.alluvium.internal.arguments.Arguments;
import io.alluvium.internal.settings.Suggestion;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

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
    return of(values, options, key -> "");
  }

  /**
   * As {@link #of(Map, Collection)}.
   *
   * @param whyUnknown for an unknown key, what is to be said in the place of a suggestion, or ""
   */
  public static Configuration of(
      Map<String, String> values, Collection<Option<?>> options, UnaryOperator<String> whyUnknown) {
    Arguments.check(values, "values");
    Arguments.check(whyUnknown, "whyUnknown");
    Map<String, Option<?>> known = new TreeMap<>();
    for (Option<?> option : Arguments.copy(options, "options")) {
      known.put(option.key(), option);
    }
    List<String> problems = new ArrayList<>();
    Map<String, String> checked = new LinkedHashMap<>();
    values.forEach(
        (key, text) -> {
          if (key == null || text == null) {
            problems.add(nullProblem(key));
            return;
          }
          Option<?> option = known.get(key);
          if (option != null) {
            check(option, text, problems);
            checked.put(key, text);
          } else if (NAME_SPACES.stream().anyMatch(key::startsWith)) {
            String why = whyUnknown.apply(key);
            problems.add(
                "unknown option '"
                    + key
                    + "'"
                    + (why.isEmpty() ? Suggestion.of(key, known.keySet()) : why));
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

  private static String nullProblem(@Nullable String key) {
    return key == null
        ? "the settings hold a null in the place of an option"
        : "the value of '" + key + "' is null; leave the option out to get its default";
  }

  private static void check(Option<?> option, String text, List<String> problems) {
    try {
      Object unused = option.parser().apply(text);
    } catch (IllegalArgumentException e) {
      problems.add("the value '" + text + "' of '" + option.key() + "' " + e.getMessage());
    }
  }

  /** {@code "; did you mean '...'?"} for a key that is not known, or nothing. */
  public static String suggestion(String key, Collection<String> known) {
    return Suggestion.of(Arguments.notNull(key, "key"), Arguments.copy(known, "known"));
  }

  /** The value of an option, or its default. */
  public <T> T get(Option<T> option) {
    Arguments.check(option, "option");
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
    return values.containsKey(Arguments.notNull(option, "option").key());
  }

  /** The given values as text, by key. */
  public Map<String, String> asMap() {
    return Map.copyOf(values);
  }
}
