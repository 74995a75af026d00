package io.alluvium.cli;

import io.alluvium.cli.job.SlidingWindowJob;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Aggregates over sliding windows. Confined to the main thread. */
@Command(
    name = "sliding-window",
    customSynopsis = {
      "alluvium run sliding-window --input FILE|DIR... --output DIR",
      "           --key COL --time COL --value COL --window DURATION",
      "           --slide DURATION [OPTIONS]"
    },
    description = {
      "Counts, sums and takes the maximum of CSV rows over sliding windows of event time.",
      "The files are CSV with a header (RFC 4180, UTF-8). Windows are [k*slide, k*slide+window)"
          + " counted from the epoch. A window fires once, when the watermark reaches its end, and"
          + " at the latest at the end of the input; an event is late only for windows that have"
          + " fired. Output lines: key<TAB>windowStart<TAB>windowEnd<TAB>count<TAB>sum<TAB>max, times"
          + " in epoch milliseconds; a backslash, tab or line end in a key is written as \\\\, \\t,"
          + " \\n, \\r."
    })
final class SlidingWindowCommand implements Callable<Integer> {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Mixin private RunOptions options = new RunOptions();

  @Option(
      names = "--key",
      required = true,
      paramLabel = "COL",
      description = "Column that windows are kept by.")
  private String key = "";

  @Option(
      names = "--time",
      required = true,
      paramLabel = "COL",
      description =
          "Column of the event time: ISO-8601 (UTC where it names no zone) or milliseconds since the"
              + " epoch.")
  private String time = "";

  @Option(
      names = "--value",
      required = true,
      paramLabel = "COL",
      description = "Column of the numbers to sum and compare.")
  private String value = "";

  @Option(
      names = "--window",
      required = true,
      paramLabel = "DURATION",
      converter = Converters.OfDuration.class,
      description = "Length of a window.")
  private Duration window = Duration.ZERO;

  @Option(
      names = "--slide",
      required = true,
      paramLabel = "DURATION",
      converter = Converters.OfDuration.class,
      description = "Distance between the starts of two windows.")
  private Duration slide = Duration.ZERO;

  @Option(
      names = "--lateness",
      paramLabel = "DURATION",
      defaultValue = "0s",
      converter = Converters.OfDuration.class,
      description =
          "The watermark is the greatest event time seen minus this, the minimum over all splits."
              + " Default: ${DEFAULT-VALUE}.")
  private Duration lateness = Duration.ZERO;

  @Override
  public Integer call() {
    return RunSession.run(
        spec.commandLine(),
        options,
        new SlidingWindowJob(key, time, value, window, slide, lateness));
  }
}
