package io.alluvium.benchmarks;

import java.io.PrintStream;
import java.util.Arrays;
import java.util.Locale;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;
import org.openjdk.jmh.util.ListStatistics;

/**
 * Compares two settings of one benchmark in interleaved pairs, A B B A A B .... Each run has its
 * own JVM. The drift of a shared machine then affects both settings equally. Prints the ratio of
 * their speeds with its 95 % interval (Student's t of the ratios of the pairs).
 *
 * <p>Arguments: benchmark, parameter, value A, value B, number of pairs. A ratio above 1 means that
 * B is faster.
 */
public final class Pairs {

  private Pairs() {}

  public static void main(String[] args) throws RunnerException {
    PrintStream out = System.out;
    if (args.length != 5) {
      out.println("usage: Pairs BENCHMARK PARAMETER VALUE_A VALUE_B PAIRS");
      System.exit(2);
    }
    int pairs = Integer.parseInt(args[4]);
    double[] ratios = new double[pairs];
    double[] a = new double[pairs];
    double[] b = new double[pairs];
    for (int i = 0; i < pairs; i++) {
      boolean first = i % 2 == 0;
      double one = run(args[0], args[1], first ? args[2] : args[3]);
      double two = run(args[0], args[1], first ? args[3] : args[2]);
      a[i] = first ? one : two;
      b[i] = first ? two : one;
      ratios[i] = a[i] / b[i];
      out.printf(
          Locale.ROOT,
          "pair %2d: %s=%s %.1f, %s=%s %.1f, ratio of speeds %.4f%n",
          i + 1,
          args[1],
          args[2],
          a[i],
          args[1],
          args[3],
          b[i],
          ratios[i]);
    }
    ListStatistics statistics = new ListStatistics(ratios);
    double[] interval = statistics.getConfidenceIntervalAt(0.95);
    out.printf(
        Locale.ROOT,
        "%s, %s=%s against %s: median %.1f and %.1f; speed ratio mean %.4f, median %.4f,"
            + " 95 %% interval [%.4f, %.4f] of %d pairs%n",
        args[0],
        args[1],
        args[3],
        args[2],
        median(a),
        median(b),
        statistics.getMean(),
        median(ratios),
        interval[0],
        interval[1],
        pairs);
  }

  private static double run(String benchmark, String parameter, String value)
      throws RunnerException {
    return new Runner(
            new OptionsBuilder()
                .include("\\." + benchmark + "\\.")
                .param(parameter, value)
                .warmupTime(TimeValue.seconds(1))
                .verbosity(VerboseMode.SILENT)
                .build())
        .runSingle()
        .getPrimaryResult()
        .getScore();
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
}
