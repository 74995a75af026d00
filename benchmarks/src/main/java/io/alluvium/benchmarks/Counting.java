package io.alluvium.benchmarks;

import io.alluvium.Components;
import io.alluvium.spi.Metrics;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** Metrics whose counters a benchmark can read. Thread-safe. */
final class Counting implements Metrics {

  private final Map<String, LongAdder> counters = new ConcurrentHashMap<>();

  Components components() {
    return Components.defaults().withMetrics(this);
  }

  long count(String name) {
    LongAdder adder = counters.get(name);
    return adder == null ? 0 : adder.sum();
  }

  @Override
  public Counter counter(String name) {
    return counters.computeIfAbsent(name, unused -> new LongAdder())::add;
  }

  @Override
  public Histogram histogram(String name) {
    return value -> {};
  }

  @Override
  public void gauge(String name, LongSupplier value) {}
}
