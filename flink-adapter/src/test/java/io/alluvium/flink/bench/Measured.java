package io.alluvium.flink.bench;

import io.alluvium.flink.jobs.Cluster.Completed;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;

/**
 * One run of one contender. Immutable.
 *
 * @param recordsPerSecond at full speed, as the next three
 * @param allocatedBytesPerRecord by all threads of the process, in the JVM's heap
 * @param atFullSpeed checkpoints that completed at full speed
 * @param atPace checkpoints that completed at the pace that all keep up with
 * @param restoreMillis from deploying to running, of the slowest task
 */
record Measured(
    double recordsPerSecond,
    double cpuMicrosPerRecord,
    double allocatedBytesPerRecord,
    List<Completed> atFullSpeed,
    List<Completed> atPace,
    long restoreMillis,
    boolean exact) {

  static final String HEADER =
      String.format(
          Locale.ROOT,
          "%-40s | %-24s | %s%n%-25s %7s %6s %8s | %5s %5s %5s %6s | %5s %5s %5s %7s %6s %7s %7s %9s | %9s %s",
          "at full speed",
          "its checkpoints, ms",
          "checkpoints at the given pace, ms",
          "backend",
          "rec/s",
          "us CPU",
          "B alloc.",
          "count",
          "P50",
          "P99",
          "max",
          "count",
          "P50",
          "P99",
          "P99.9",
          "max",
          "P99 sy.",
          "P99 as.",
          "KB each",
          "restore",
          "result");

  String line(String title) {
    return String.format(
        Locale.ROOT,
        "%-25s %7.0f %6.2f %8.0f | %5d %5d %5d %6d | %5d %5d %5d %7d %6d %7d %7d %9.1f | %6d ms %s",
        title,
        recordsPerSecond,
        cpuMicrosPerRecord,
        allocatedBytesPerRecord,
        atFullSpeed.size(),
        percentile(atFullSpeed, Completed::millis, 0.5),
        percentile(atFullSpeed, Completed::millis, 0.99),
        percentile(atFullSpeed, Completed::millis, 1),
        atPace.size(),
        percentile(atPace, Completed::millis, 0.5),
        percentile(atPace, Completed::millis, 0.99),
        percentile(atPace, Completed::millis, 0.999),
        percentile(atPace, Completed::millis, 1),
        percentile(atPace, Completed::syncMillis, 0.99),
        percentile(atPace, Completed::asyncMillis, 0.99),
        atPace.stream().mapToLong(Completed::bytes).average().orElse(0) / 1024,
        restoreMillis,
        exact ? "exact" : "WRONG");
  }

  private static long percentile(
      List<Completed> checkpoints, ToLongFunction<Completed> value, double share) {
    long[] sorted = checkpoints.stream().mapToLong(value).sorted().toArray();
    int count = sorted.length;
    return count == 0 ? -1 : sorted[Math.min(count - 1, (int) Math.ceil(share * count) - 1)];
  }

  /** Of runs of the same contender: medians, and all checkpoints together. */
  static Measured median(List<Measured> runs) {
    return new Measured(
        median(runs.stream().mapToDouble(Measured::recordsPerSecond).toArray()),
        median(runs.stream().mapToDouble(Measured::cpuMicrosPerRecord).toArray()),
        median(runs.stream().mapToDouble(Measured::allocatedBytesPerRecord).toArray()),
        runs.stream().flatMap(run -> run.atFullSpeed.stream()).toList(),
        runs.stream().flatMap(run -> run.atPace.stream()).toList(),
        (long) median(runs.stream().mapToDouble(Measured::restoreMillis).toArray()),
        runs.stream().allMatch(Measured::exact));
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    int middle = values.length / 2;
    return values.length % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  }
}
