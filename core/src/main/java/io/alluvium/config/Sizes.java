package io.alluvium.config;

import io.alluvium.internal.arguments.Arguments;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Sizes in bytes as people write them: {@code 512}, {@code 64 kb}, {@code 5 mb}, {@code 1 gb};
 * units are powers of 1024.
 */
public final class Sizes {

  private static final Pattern TEXT = Pattern.compile("\\s*(\\d{1,15})\\s*([a-zA-Z]*)\\s*");

  private Sizes() {}

  /** Throws {@code IllegalArgumentException} whose message completes "the value ...". */
  public static long parse(String text) {
    Matcher matcher = TEXT.matcher(Arguments.notNull(text, "text"));
    if (!matcher.matches()) {
      throw notASize();
    }
    long factor =
        switch (matcher.group(2).toLowerCase(Locale.ROOT)) {
          case "", "b", "bytes" -> 1L;
          case "k", "kb", "kib" -> 1L << 10;
          case "m", "mb", "mib" -> 1L << 20;
          case "g", "gb", "gib" -> 1L << 30;
          case "t", "tb", "tib" -> 1L << 40;
          default -> throw notASize();
        };
    try {
      return Math.multiplyExact(Long.parseLong(matcher.group(1)), factor);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException("is too large a size", e);
    }
  }

  private static IllegalArgumentException notASize() {
    return new IllegalArgumentException("must be a size such as 512, '64 kb', '5 mb' or '1 gb'");
  }

  /** The shortest exact form that {@link #parse} reads. */
  public static String format(long bytes) {
    String[] units = {"", " kb", " mb", " gb", " tb"};
    long rest = bytes;
    int unit = 0;
    while (rest != 0 && rest % 1024 == 0 && unit < units.length - 1) {
      rest /= 1024;
      unit++;
    }
    return rest + units[unit];
  }
}
