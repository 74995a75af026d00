package io.alluvium.cli.runner;

import org.HdrHistogram.Histogram;

/** Counts what a run's summary tells. Confined to the coordinator's thread. */
final class RunStatistics {

  private final Histogram durationMillis = new Histogram(3);
  private final Histogram syncMicros = new Histogram(3);
  private final Histogram bytesFlushed = new Histogram(3);
  private long completed;
  private long failed;

  void confirmed(CheckpointRow row) {
    completed++;
    durationMillis.recordValue(Math.round(row.durationMillis()));
    syncMicros.recordValue(row.syncMicros());
    bytesFlushed.recordValue(row.bytesFlushed());
  }

  void failed() {
    failed++;
  }

  RunSummary.Checkpoints checkpoints() {
    return new RunSummary.Checkpoints(
        completed,
        failed,
        percentiles(durationMillis),
        percentiles(syncMicros),
        new RunSummary.Sizes(bytesFlushed.getValueAtPercentile(50), bytesFlushed.getMaxValue()));
  }

  private static RunSummary.Percentiles percentiles(Histogram histogram) {
    return new RunSummary.Percentiles(
        histogram.getValueAtPercentile(50),
        histogram.getValueAtPercentile(99),
        histogram.getMaxValue());
  }
}
