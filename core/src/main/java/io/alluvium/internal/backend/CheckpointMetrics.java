package io.alluvium.internal.backend;

import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;

/** What the checkpoints of a process's backends report. Thread-safe. */
final class CheckpointMetrics {

  private final Execution execution;
  private final Metrics.Histogram syncMicros;

  CheckpointMetrics(Execution execution, Metrics metrics) {
    this.execution = execution;
    this.syncMicros = metrics.histogram("checkpoint.sync.micros");
  }

  long nanoTime() {
    return execution.nanoTime();
  }

  /** The sync part that began at {@code startNanos} is over. */
  void synced(long startNanos) {
    syncMicros.record((execution.nanoTime() - startNanos) / 1000);
  }
}
