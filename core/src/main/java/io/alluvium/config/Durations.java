package io.alluvium.config;

import io.alluvium.internal.arguments.Arguments;
import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Durations as people write them: {@code 300ms}, {@code 2s}, {@code 10m}, {@code 10 min}, {@code
 * 1h}, {@code 2d}.
 */
public final class Durations {

  private static final Pattern TEXT = Pattern.compile("\\s*(-?\\d{1,15})\\s*([a-zA-Zµ]*)\\s*");

  private Durations() {}

  /**
   * Throws {@code IllegalArgumentException} whose message completes "the value ...". A bare {@code
   * 0} needs no unit.
   */
  public static Duration parse(String text) {
    Matcher matcher = TEXT.matcher(Arguments.notNull(text, "text"));
    if (!matcher.matches()) {
      throw notADuration();
    }
    long amount = Long.parseLong(matcher.group(1));
    try {
      return switch (matcher.group(2).toLowerCase(Locale.ROOT)) {
        case "us", "µs", "micros" -> Duration.ofNanos(Math.multiplyExact(amount, 1000L));
        case "ms", "milli", "millis" -> Duration.ofMillis(amount);
        case "s", "sec", "second", "seconds" -> Duration.ofSeconds(amount);
        case "m", "min", "minute", "minutes" -> Duration.ofMinutes(amount);
        case "h", "hour", "hours" -> Duration.ofHours(amount);
        case "d", "day", "days" -> Duration.ofDays(amount);
        case "" -> {
          if (amount != 0) {
            throw notADuration();
          }
          yield Duration.ZERO;
        }
        default -> throw notADuration();
      };
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException("is too long a duration", e);
    }
  }

  private static IllegalArgumentException notADuration() {
    return new IllegalArgumentException(
        "must be a duration with a unit, such as 300ms, 2s, 10m, '10 min' or 1h");
  }

  /** The shortest exact form that {@link #parse} reads. */
  public static String format(Duration duration) {
    Arguments.check(duration, "duration");
    long nanos = duration.toNanosPart();
    if (nanos % 1_000_000 != 0) {
      return duration.toNanos() / 1000 + "us";
    }
    long millis = duration.toMillis();
    if (millis == 0) {
      return "0s";
    }
    if (millis % 1000 != 0) {
      return millis + "ms";
    }
    long seconds = millis / 1000;
    if (seconds % 60 != 0) {
      return seconds + "s";
    }
    long minutes = seconds / 60;
    if (minutes % 60 != 0) {
      return minutes + "m";
    }
    long hours = minutes / 60;
    return hours % 24 != 0 ? hours + "h" : hours / 24 + "d";
  }
}
