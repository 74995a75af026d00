package io.alluvium.benchmarks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;

/** Bytes and requests per second since the start. Thread-safe. */
final class TrafficLog {

  private static final int SECONDS = 24 * 3600;

  private final AtomicLongArray tableBytes = new AtomicLongArray(SECONDS);
  private final AtomicLongArray otherBytes = new AtomicLongArray(SECONDS);
  private final AtomicLongArray requests = new AtomicLongArray(SECONDS);
  private final long start = System.nanoTime();

  /** Peak and average of a rate per second. */
  record Rate(double peak, double average) {
    double ratio() {
      return average == 0 ? 0 : peak / average;
    }

    static Rate of(long[] perSecond) {
      return new Rate(
          Arrays.stream(perSecond).max().orElse(0), Arrays.stream(perSecond).average().orElse(0));
    }
  }

  /** Seconds since the start. */
  int second() {
    return (int) Math.min(SECONDS - 1, (System.nanoTime() - start) / 1_000_000_000L);
  }

  void request() {
    requests.incrementAndGet(second());
  }

  void sent(String name, long bytes) {
    (name.endsWith(".table") ? tableBytes : otherBytes).addAndGet(second(), bytes);
  }

  /** The rate of table files in the seconds {@code [from, to)}. */
  Rate tables(int from, int to) {
    return Rate.of(slice(tableBytes, from, to));
  }

  Rate bytes(int from, int to) {
    long[] all = slice(tableBytes, from, to);
    long[] others = slice(otherBytes, from, to);
    for (int i = 0; i < all.length; i++) {
      all[i] += others[i];
    }
    return Rate.of(all);
  }

  List<String> lines(String kind, int from, int to) {
    List<String> lines = new ArrayList<>();
    for (int second = from; second < to; second++) {
      lines.add(
          kind.replace(',', ';')
              + ","
              + (second - from)
              + ","
              + tableBytes.get(second)
              + ","
              + otherBytes.get(second)
              + ","
              + requests.get(second));
    }
    return lines;
  }

  Rate requests(int from, int to) {
    return Rate.of(slice(requests, from, to));
  }

  private static long[] slice(AtomicLongArray values, int from, int to) {
    long[] slice = new long[Math.max(0, to - from)];
    for (int i = 0; i < slice.length; i++) {
      slice[i] = values.get(from + i);
    }
    return slice;
  }
}
