package io.alluvium.cli.job;

import io.alluvium.KeyedBackend;
import io.alluvium.cli.input.InputFile;
import io.alluvium.cli.input.JobException;
import io.alluvium.cli.input.RecordFormat;
import io.alluvium.config.Durations;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Counts, sums and takes the maximum of a column's values over sliding windows of event time.
 * Immutable.
 *
 * @param keyColumn what windows are kept by
 * @param timeColumn event time
 * @param valueColumn numbers
 */
public record SlidingWindowJob(
    String keyColumn,
    String timeColumn,
    String valueColumn,
    Duration window,
    Duration slide,
    Duration lateness)
    implements Job {

  public static final String KIND = "sliding-window";

  /** Every event is kept once for each window that holds it. */
  private static final int MAX_WINDOWS_PER_EVENT = 10_000;

  private static final Duration MAX_DURATION = Duration.ofDays(3650);

  public SlidingWindowJob {
    check("--window", window, Duration.ofMillis(1));
    check("--slide", slide, Duration.ofMillis(1));
    check("--lateness", lateness, Duration.ZERO);
    if (window.toMillis() / slide.toMillis() > MAX_WINDOWS_PER_EVENT) {
      throw JobException.usage(
          "--window "
              + Durations.format(window)
              + " is more than "
              + MAX_WINDOWS_PER_EVENT
              + " times --slide "
              + Durations.format(slide)
              + "; make the slide longer");
    }
  }

  private static void check(String option, Duration value, Duration min) {
    if (value.compareTo(min) < 0
        || value.compareTo(MAX_DURATION) > 0
        || value.toNanosPart() % 1_000_000 != 0) {
      throw JobException.usage(
          option
              + " "
              + Durations.format(value)
              + " must be whole milliseconds from "
              + Durations.format(min)
              + " to "
              + Durations.format(MAX_DURATION));
    }
  }

  @Override
  public String kind() {
    return KIND;
  }

  @Override
  public Map<String, String> parameters() {
    Map<String, String> parameters = new LinkedHashMap<>();
    parameters.put("--key", keyColumn);
    parameters.put("--time", timeColumn);
    parameters.put("--value", valueColumn);
    parameters.put("--window", Durations.format(window));
    parameters.put("--slide", Durations.format(slide));
    parameters.put("--lateness", Durations.format(lateness));
    return parameters;
  }

  @Override
  public RecordFormat format() {
    return RecordFormat.CSV;
  }

  @Override
  public long headerBytes(InputFile file) {
    return CsvHeader.read(file).sizeBytes();
  }

  @Override
  public RecordParser parserOf(InputFile file) {
    return new EventParser(CsvHeader.read(file), keyColumn, timeColumn, valueColumn);
  }

  @Override
  public long latenessMillis() {
    return lateness.toMillis();
  }

  @Override
  public Operator operator(KeyedBackend<String> backend, Operator.Output out, long watermark) {
    return new SlidingWindowOperator(
        backend, out, new SlidingWindows(window.toMillis(), slide.toMillis()), watermark);
  }

  @Override
  public Optional<String> resultFile() {
    return Optional.empty();
  }
}
