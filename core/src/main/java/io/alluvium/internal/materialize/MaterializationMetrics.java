package io.alluvium.internal.materialize;

import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import java.util.concurrent.atomic.AtomicInteger;

/** What the materializers of a process report. Thread-safe. */
public final class MaterializationMetrics {

  private final Metrics.Counter completed;
  private final Metrics.Counter failed;
  private final Metrics.Counter files;
  private final Metrics.Counter bytes;
  private final Metrics.Histogram millis;
  private final AtomicInteger alarm = new AtomicInteger();
  private final Execution execution;
  private volatile long newestNanos;

  public MaterializationMetrics(Execution execution, Metrics metrics) {
    this.execution = execution;
    newestNanos = execution.nanoTime();
    completed = metrics.counter("materialization.completed.count");
    failed = metrics.counter("materialization.failed.count");
    files = metrics.counter("materialization.stored.files");
    bytes = metrics.counter("materialization.stored.bytes");
    millis = metrics.histogram("materialization.store.millis");
    metrics.gauge("materialization.alarm.count", alarm::get);
    metrics.gauge("materialization.age.millis", this::ageMillis);
  }

  /** Since the newest materialization became durable, or since the process began. */
  private long ageMillis() {
    // Before the time: one that completes in between must not make the age negative.
    long newest = newestNanos;
    return (execution.nanoTime() - newest) / 1_000_000;
  }

  void completed(TableUploader.Upload upload, long nanos) {
    newestNanos = execution.nanoTime();
    files.add(upload.newFiles());
    bytes.add(upload.newBytes());
    millis.record(nanos / 1_000_000);
    // Last: who sees the materialization sees its files too.
    completed.add(1);
  }

  void failed() {
    failed.add(1);
  }

  /** Counts backends whose materializations failed more often in a row than is allowed. */
  void alarm(int change) {
    alarm.addAndGet(change);
  }
}
