package io.alluvium.flink.bench;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * One run of one contender. Immutable.
 *
 * @param allocatedBytesPerRecord by all threads of the process, in the JVM's heap
 * @param checkpointMillis durations of the completed checkpoints of the first part, sorted
 * @param checkpointBytes stored by these checkpoints together
 * @param restoreMillis from deploying to running, of the slowest task
 */
record Measured(
    double recordsPerSecond,
    double cpuMicrosPerRecord,
    double allocatedBytesPerRecord,
    long[] checkpointMillis,
    long checkpointBytes,
    long restoreMillis,
    boolean exact) {

  static final String HEADER =
      String.format(
          Locale.ROOT,
          "%-28s %11s %9s %8s %6s %6s %6s %7s %6s %10s %9s %s",
          "backend",
          "records/s",
          "us CPU/r",
          "B all./r",
          "ckpts",
          "P50 ms",
          "P99 ms",
          "P99.9ms",
          "max ms",
          "KB/ckpt",
          "restore",
          "result");

  private long percentile(double share) {
    int count = checkpointMillis.length;
    return count == 0
        ? -1
        : checkpointMillis[Math.min(count - 1, (int) Math.ceil(share * count) - 1)];
  }

  String line(String title) {
    int count = checkpointMillis.length;
    return String.format(
        Locale.ROOT,
        "%-28s %11.0f %9.2f %8.0f %6d %6d %6d %7d %6d %10.1f %6d ms %s",
        title,
        recordsPerSecond,
        cpuMicrosPerRecord,
        allocatedBytesPerRecord,
        count,
        percentile(0.5),
        percentile(0.99),
        percentile(0.999),
        percentile(1),
        count == 0 ? 0 : checkpointBytes / 1024.0 / count,
        restoreMillis,
        exact ? "exact" : "WRONG");
  }

  /** Of runs of the same contender: medians, and all checkpoints together. */
  static Measured median(List<Measured> runs) {
    return new Measured(
        median(runs.stream().mapToDouble(Measured::recordsPerSecond).toArray()),
        median(runs.stream().mapToDouble(Measured::cpuMicrosPerRecord).toArray()),
        median(runs.stream().mapToDouble(Measured::allocatedBytesPerRecord).toArray()),
        runs.stream().flatMapToLong(run -> Arrays.stream(run.checkpointMillis)).sorted().toArray(),
        runs.stream().mapToLong(Measured::checkpointBytes).sum(),
        (long) median(runs.stream().mapToDouble(Measured::restoreMillis).toArray()),
        runs.stream().allMatch(Measured::exact));
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    int middle = values.length / 2;
    return values.length % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  }
}
