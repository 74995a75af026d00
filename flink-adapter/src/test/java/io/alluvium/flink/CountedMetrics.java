package io.alluvium.flink;

import io.alluvium.spi.Metrics;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** Sums of counters, and how often a histogram was told something. Thread-safe. */
final class CountedMetrics implements Metrics {

  private final ConcurrentMap<String, AtomicLong> values = new ConcurrentHashMap<>();

  long get(String name) {
    return of(name).get();
  }

  private AtomicLong of(String name) {
    return values.computeIfAbsent(name, unused -> new AtomicLong());
  }

  @Override
  public Counter counter(String name) {
    return of(name)::addAndGet;
  }

  @Override
  public Histogram histogram(String name) {
    AtomicLong count = of(name);
    return value -> count.incrementAndGet();
  }

  @Override
  public void gauge(String name, LongSupplier value) {}
}
