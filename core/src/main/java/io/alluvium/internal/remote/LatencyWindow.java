package io.alluvium.internal.remote;

import java.util.Arrays;

/**
 * How long the last requests took, and from when on one counts as slow. Thread-safe; guarded by
 * {@code this}.
 */
final class LatencyWindow {

  /*
   * The bound is the p98 of the last requests, so that one of fifty is slow by definition, but at least twice the median:
   * where all take about the same, none is. It is computed anew after every `REFRESH` requests, from a sorted copy, which
   * costs microseconds beside a request over a network.
   */
  private static final int SIZE = 1_000;
  private static final int REFRESH = 20;
  private static final double QUANTILE = 0.98;

  private final long[] nanos = new long[SIZE];
  private long count;
  private long bound;

  /**
   * @param boundWhenCold until there are enough requests to judge by
   */
  LatencyWindow(long boundWhenCold) {
    this.bound = boundWhenCold;
  }

  synchronized void add(long tookNanos) {
    nanos[(int) (count % SIZE)] = tookNanos;
    count++;
    if (count % REFRESH == 0) {
      long[] sorted = Arrays.copyOf(nanos, (int) Math.min(count, SIZE));
      Arrays.sort(sorted);
      long slow = sorted[(int) Math.ceil(QUANTILE * sorted.length) - 1];
      bound = Math.max(slow, 2 * sorted[sorted.length / 2]);
    }
  }

  /** A request that takes longer than this is slow. */
  synchronized long boundNanos() {
    return bound;
  }
}
