package io.alluvium.flink;

import io.alluvium.spi.Metrics;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.LongSupplier;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.runtime.metrics.DescriptiveStatisticsHistogram;

/** Core's measurements as metrics of the operator, in the group {@code alluvium}. Thread-safe. */
final class FlinkMetrics implements Metrics {

  private static final int WINDOW = 1000;

  private final MetricGroup group;
  private final ConcurrentMap<String, Counter> counters = new ConcurrentHashMap<>();
  private final ConcurrentMap<String, Histogram> histograms = new ConcurrentHashMap<>();
  private final ConcurrentMap<String, LongSupplier> gauges = new ConcurrentHashMap<>();

  FlinkMetrics(MetricGroup parent) {
    group = parent.addGroup("alluvium");
  }

  /**
   * For core. Its counts of requests are left out: inside Flink its puts only keep a copy, and what
   * goes into the storage is counted by {@link StoreMetrics}.
   */
  Metrics ofCore() {
    return new Metrics() {
      @Override
      public Counter counter(String name) {
        return isOfRequests(name) ? NONE.counter(name) : FlinkMetrics.this.counter(name);
      }

      @Override
      public Histogram histogram(String name) {
        return isOfRequests(name) ? NONE.histogram(name) : FlinkMetrics.this.histogram(name);
      }

      @Override
      public void gauge(String name, LongSupplier value) {
        if (!isOfRequests(name)) {
          FlinkMetrics.this.gauge(name, value);
        }
      }
    };
  }

  private static boolean isOfRequests(String name) {
    return name.startsWith("store.");
  }

  @Override
  public Counter counter(String name) {
    return counters.computeIfAbsent(
        name,
        unused -> {
          org.apache.flink.metrics.Counter counter =
              group.counter(name, new org.apache.flink.metrics.ThreadSafeSimpleCounter());
          return counter::inc;
        });
  }

  @Override
  public Histogram histogram(String name) {
    return histograms.computeIfAbsent(
        name,
        unused -> {
          DescriptiveStatisticsHistogram histogram = new DescriptiveStatisticsHistogram(WINDOW);
          group.histogram(name, histogram);
          return histogram::update;
        });
  }

  @Override
  public void gauge(String name, LongSupplier value) {
    if (gauges.put(name, value) == null) {
      Gauge<Long> gauge =
          () -> {
            LongSupplier newest = gauges.get(name);
            return newest == null ? 0 : newest.getAsLong();
          };
      group.gauge(name, gauge);
    }
  }
}
