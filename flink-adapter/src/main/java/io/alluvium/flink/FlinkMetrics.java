package io.alluvium.flink;

import io.alluvium.spi.Metrics;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.runtime.metrics.DescriptiveStatisticsHistogram;
import org.apache.flink.runtime.metrics.MetricNames;
import org.apache.flink.runtime.state.StateBackend.CustomInitializationMetrics;

/** Core's measurements as metrics of the operator, in the group {@code alluvium}. Thread-safe. */
final class FlinkMetrics implements Metrics {

  private static final int WINDOW = 1000;

  private final MetricGroup group;
  private final ConcurrentMap<String, Counter> counters = new ConcurrentHashMap<>();
  private final ConcurrentMap<String, Histogram> histograms = new ConcurrentHashMap<>();
  private final ConcurrentMap<String, LongSupplier> gauges = new ConcurrentHashMap<>();

  private final CustomInitializationMetrics initialization;
  private final AtomicLong downloadMillis = new AtomicLong();

  /**
   * @param initialization what Flink shows of a task's start
   */
  FlinkMetrics(MetricGroup parent, CustomInitializationMetrics initialization) {
    group = parent.addGroup("alluvium");
    this.initialization = initialization;
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
        return isOfRequests(name)
            ? NONE.histogram(name)
            : alsoOfInitialization(name, FlinkMetrics.this.histogram(name));
      }

      @Override
      public void gauge(String name, LongSupplier value) {
        if (!isOfRequests(name)) {
          FlinkMetrics.this.gauge(name, value);
        }
      }
    };
  }

  /** Under the names that Flink's own RocksDB backend uses, which divides a restore in two. */
  private Histogram alsoOfInitialization(String name, Histogram histogram) {
    return switch (name) {
      case "restore.download.millis" ->
          millis -> {
            histogram.record(millis);
            downloadMillis.set(millis);
            initialization.addMetric(MetricNames.DOWNLOAD_STATE_DURATION, millis);
          };
      case "restore.total.millis" ->
          millis -> {
            histogram.record(millis);
            initialization.addMetric(
                MetricNames.RESTORE_STATE_DURATION, Math.max(0, millis - downloadMillis.get()));
          };
      default -> histogram;
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
