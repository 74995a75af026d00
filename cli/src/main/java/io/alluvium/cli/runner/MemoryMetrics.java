package io.alluvium.cli.runner;

import io.alluvium.spi.Metrics;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** Keeps the backend's counters, for the summary of a run. Thread-safe. */
final class MemoryMetrics implements Metrics {

  private final Map<String, LongAdder> counters = new ConcurrentHashMap<>();

  @Override
  public Counter counter(String name) {
    LongAdder adder = counters.computeIfAbsent(name, unused -> new LongAdder());
    return adder::add;
  }

  /** The count of a name, 0 before anything was counted. */
  long count(String name) {
    LongAdder adder = counters.get(name);
    return adder == null ? 0 : adder.sum();
  }

  @Override
  public Histogram histogram(String name) {
    return value -> {};
  }

  @Override
  public void gauge(String name, LongSupplier value) {}
}
