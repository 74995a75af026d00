package io.alluvium.dstl;

import io.alluvium.spi.Metrics;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/** Keeps what it is told. Thread-safe for counters and gauges. */
final class RecordedMetrics implements Metrics {

  private final Map<String, Long> counters = new ConcurrentHashMap<>();
  private final Map<String, List<Long>> histograms = new ConcurrentHashMap<>();
  private final Map<String, LongSupplier> gauges = new ConcurrentHashMap<>();

  @Override
  public Counter counter(String name) {
    return delta -> counters.merge(name, delta, Long::sum);
  }

  @Override
  public Histogram histogram(String name) {
    List<Long> values = histograms.computeIfAbsent(name, unused -> new ArrayList<>());
    return value -> {
      synchronized (values) {
        values.add(value);
      }
    };
  }

  @Override
  public void gauge(String name, LongSupplier value) {
    gauges.put(name, value);
  }

  long count(String name) {
    return counters.getOrDefault(name, 0L);
  }

  List<Long> recorded(String name) {
    return List.copyOf(histograms.getOrDefault(name, List.of()));
  }

  long gauge(String name) {
    return gauges.getOrDefault(name, () -> -1).getAsLong();
  }
}
