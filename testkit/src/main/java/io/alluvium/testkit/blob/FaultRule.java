package io.alluvium.testkit.blob;

import io.alluvium.config.Durations;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A fault and the calls that it applies to. The text form is one line: the fault, the call, a name
 * pattern ({@code *} matches anything) and the numbers of the matching calls, counted from 1
 * ({@code #2}, {@code #2-4}, {@code #2+}; default: all):
 *
 * <pre>
 *   fail before put data/* #2
 *   fail after putifabsent slots/*
 *   throttle put data/*.log #1-5
 *   delay 100ms list *
 *   short 10 read data/* #1
 *   flip 17.3 read data/* #1
 *   truncate 10 put data/* #1
 * </pre>
 *
 * Immutable.
 */
public record FaultRule(Fault fault, BlobOp op, String namePattern, int from, int to) {

  private static final Pattern LINE =
      Pattern.compile(
          "(fail before|fail after|throttle|delay \\S+|short \\d+|flip \\d+\\.\\d|truncate \\d+)"
              + " (\\w+) (\\S+)(?: #(\\d+)(?:(\\+)|-(\\d+))?)?");

  public static FaultRule parse(String line) {
    Matcher matcher = LINE.matcher(line.trim());
    if (!matcher.matches()) {
      throw new IllegalArgumentException("'" + line + "' is not a fault rule");
    }
    int from = matcher.group(4) == null ? 1 : Integer.parseInt(matcher.group(4));
    int to = from;
    if (matcher.group(4) == null || matcher.group(5) != null) {
      to = Integer.MAX_VALUE;
    } else if (matcher.group(6) != null) {
      to = Integer.parseInt(matcher.group(6));
    }
    return new FaultRule(
        fault(matcher.group(1)), BlobOp.ofWord(matcher.group(2)), matcher.group(3), from, to);
  }

  private static Fault fault(String text) {
    int space = text.indexOf(' ');
    String argument = text.substring(space + 1);
    return switch (space < 0 ? text : text.substring(0, space)) {
      case "fail" -> argument.equals("after") ? new Fault.FailAfter() : new Fault.FailBefore();
      case "throttle" -> new Fault.Throttle();
      case "delay" -> new Fault.Delay(Durations.parse(argument));
      case "short" -> new Fault.ShortRead(Long.parseLong(argument));
      case "truncate" -> new Fault.Truncate(Long.parseLong(argument));
      case "flip" -> {
        int dot = argument.indexOf('.');
        yield new Fault.FlipBit(
            Long.parseLong(argument.substring(0, dot)),
            Integer.parseInt(argument.substring(dot + 1)));
      }
      default -> throw new IllegalArgumentException("'" + text + "' is not a fault");
    };
  }

  boolean concerns(BlobOp called, String name) {
    return called == op && matches(namePattern, name);
  }

  boolean hits(int nth) {
    return nth >= from && nth <= to;
  }

  private static boolean matches(String pattern, String name) {
    String regex = Pattern.quote(pattern).replace("*", "\\E.*\\Q");
    return Pattern.matches(regex, name);
  }

  @Override
  public String toString() {
    String which =
        from == 1 && to == Integer.MAX_VALUE
            ? ""
            : " #" + from + (to == from ? "" : to == Integer.MAX_VALUE ? "+" : "-" + to);
    return fault + " " + op.word() + " " + namePattern + which;
  }
}
