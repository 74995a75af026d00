package io.alluvium.config;

import io.alluvium.internal.arguments.Arguments;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One typed setting: its key, how its text is read and checked, its default and what it does.
 * Immutable.
 *
 * @param key full name in a properties file
 * @param parser reads the text; throws {@code IllegalArgumentException} whose message completes the
 *     sentence "the value '...' of '...' ..."
 * @param defaultText the default as a user would write it; empty when there is none
 * @param required whether a value must be given
 * @param range what is accepted, for people: a type with its unit and bounds
 * @param doc what it does, in plain sentences
 */
public record Option<T>(
    String key,
    Function<String, T> parser,
    Optional<String> defaultText,
    boolean required,
    String range,
    String doc) {

  public Option {
    Arguments.check(key, "key");
    Arguments.check(parser, "parser");
    Arguments.check(defaultText, "defaultText");
    Arguments.check(range, "range");
    Arguments.check(doc, "doc");
  }

  /** Free text; {@code defaultText} may be {@code ""}, which means "not set". */
  public static Option<String> text(String key, String defaultText, String doc) {
    return new Option<>(
        key,
        Function.identity(),
        Optional.of(Arguments.notNull(defaultText, "defaultText")),
        false,
        "text",
        doc);
  }

  public static Option<String> requiredText(String key, String doc) {
    return new Option<>(key, Function.identity(), Optional.empty(), true, "text", doc);
  }

  public static Option<Boolean> bool(String key, boolean defaultValue, String doc) {
    return new Option<>(
        key,
        Option::parseBoolean,
        Optional.of(Boolean.toString(defaultValue)),
        false,
        "true or false",
        doc);
  }

  public static Option<Integer> integer(
      String key, int defaultValue, int min, int max, String doc) {
    return new Option<>(
        key,
        text -> (int) parseLong(text, min, max, "a whole number"),
        Optional.of(Integer.toString(defaultValue)),
        false,
        "whole number from " + min + (max == Integer.MAX_VALUE ? "" : " to " + max),
        doc);
  }

  public static Option<Double> real(
      String key, double defaultValue, double min, double max, String doc) {
    return new Option<>(
        key,
        text -> parseReal(text, min, max),
        Optional.of(Double.toString(defaultValue)),
        false,
        "number from " + min + " to " + max,
        doc);
  }

  /** A duration such as {@code 300ms}, {@code 2s}, {@code 10 min}. */
  public static Option<Duration> duration(
      String key, String defaultText, Duration min, Duration max, String doc) {
    Arguments.check(min, "min");
    Arguments.check(max, "max");
    return new Option<>(
        key,
        text -> {
          Duration value = Durations.parse(text);
          if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
            throw new IllegalArgumentException(
                "must lie within " + Durations.format(min) + " and " + Durations.format(max));
          }
          return value;
        },
        Optional.of(Arguments.notNull(defaultText, "defaultText")),
        false,
        "duration from " + Durations.format(min) + " to " + Durations.format(max),
        doc);
  }

  /** A size in bytes such as {@code 64 kb}, {@code 5 mb}; units are powers of 1024. */
  public static Option<Long> size(
      String key, String defaultText, long minBytes, long maxBytes, String doc) {
    return new Option<>(
        key,
        text -> {
          long value = Sizes.parse(text);
          if (value < minBytes || value > maxBytes) {
            throw new IllegalArgumentException(
                "must lie within " + Sizes.format(minBytes) + " and " + Sizes.format(maxBytes));
          }
          return value;
        },
        Optional.of(Arguments.notNull(defaultText, "defaultText")),
        false,
        "size from " + Sizes.format(minBytes) + " to " + Sizes.format(maxBytes),
        doc);
  }

  public static Option<String> choice(
      String key, String defaultText, List<String> choices, String doc) {
    Arguments.check(choices, "choices");
    return new Option<>(
        key,
        text -> {
          String lower = text.trim().toLowerCase(Locale.ROOT);
          if (!choices.contains(lower)) {
            throw new IllegalArgumentException("must be one of " + String.join(", ", choices));
          }
          return lower;
        },
        Optional.of(Arguments.notNull(defaultText, "defaultText")),
        false,
        "one of " + String.join(", ", choices),
        doc);
  }

  /** The same option, whose values must also pass a check that throws as {@link #parser} does. */
  public Option<T> checkedBy(Consumer<T> check) {
    Arguments.check(check, "check");
    return new Option<>(
        key,
        text -> {
          T value = parser.apply(text);
          check.accept(value);
          return value;
        },
        defaultText,
        required,
        range,
        doc);
  }

  private static boolean parseBoolean(String text) {
    return switch (text.trim().toLowerCase(Locale.ROOT)) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("must be true or false");
    };
  }

  private static long parseLong(String text, long min, long max, String what) {
    long value;
    try {
      value = Long.parseLong(text.trim());
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("must be " + what, e);
    }
    if (value < min || value > max) {
      throw new IllegalArgumentException("must lie within " + min + " and " + max);
    }
    return value;
  }

  private static double parseReal(String text, double min, double max) {
    double value;
    try {
      value = Double.parseDouble(text.trim());
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("must be a number", e);
    }
    if (!(value >= min && value <= max)) {
      throw new IllegalArgumentException("must lie within " + min + " and " + max);
    }
    return value;
  }
}
