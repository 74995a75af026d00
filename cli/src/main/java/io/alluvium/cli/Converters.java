package io.alluvium.cli;

import io.alluvium.cli.runner.BadRecords;
import io.alluvium.config.Durations;
import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** How options are read. Stateless. */
final class Converters {

  private Converters() {}

  /** {@code 300ms}, {@code 2s}, {@code 10 min}. */
  static final class OfDuration implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String text) {
      try {
        return Durations.parse(text);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException("'" + text + "' " + e.getMessage());
      }
    }
  }

  /** {@code fail} or {@code skip}. */
  static final class OfBadRecords implements ITypeConverter<BadRecords> {
    @Override
    public BadRecords convert(String text) {
      for (BadRecords choice : BadRecords.values()) {
        if (choice.name().equalsIgnoreCase(text)) {
          return choice;
        }
      }
      throw new TypeConversionException("'" + text + "' must be fail or skip");
    }
  }

  /** A whole number. */
  static final class OfInteger implements ITypeConverter<Integer> {
    @Override
    public Integer convert(String text) {
      try {
        return Integer.valueOf(text);
      } catch (NumberFormatException e) {
        throw new TypeConversionException("'" + text + "' is not a whole number");
      }
    }
  }

  /** {@code 5000/s} or {@code 5000}. */
  static final class OfRate implements ITypeConverter<Double> {
    private static final double MAX = 1e9;

    @Override
    public Double convert(String text) {
      String number = text.endsWith("/s") ? text.substring(0, text.length() - 2) : text;
      try {
        double rate = Double.parseDouble(number.strip());
        if (rate > 0 && rate <= MAX) {
          return rate;
        }
      } catch (NumberFormatException e) {
        // The same message.
      }
      throw new TypeConversionException(
          "'" + text + "' must be a number of records per second above 0, such as 5000/s");
    }
  }
}
