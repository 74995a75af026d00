package io.alluvium.internal.backend;

import io.alluvium.internal.restore.ReplaySpeed;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/** What the checkpoints of a process's backends report. Thread-safe. */
final class CheckpointMetrics {

  private final Execution execution;
  private final ReplaySpeed replaySpeed;
  private final Metrics.Histogram syncMicros;
  private final Metrics.Histogram durableMicros;
  private final Metrics.Histogram tailBytes;
  private final Metrics.Histogram replayMillis;
  private final Set<LongSupplier> unmaterialized = ConcurrentHashMap.newKeySet();

  CheckpointMetrics(Execution execution, Metrics metrics, ReplaySpeed replaySpeed) {
    this.execution = execution;
    this.replaySpeed = replaySpeed;
    this.syncMicros = metrics.histogram("checkpoint.sync.micros");
    this.durableMicros = metrics.histogram("checkpoint.durable.micros");
    this.tailBytes = metrics.histogram("checkpoint.tail.bytes");
    this.replayMillis = metrics.histogram("checkpoint.replay.estimate.millis");
    metrics.gauge("changelog.unmaterialized.bytes", this::unmaterializedBytes);
  }

  private long unmaterializedBytes() {
    long sum = 0;
    for (LongSupplier each : unmaterialized) {
      sum += each.getAsLong();
    }
    return sum;
  }

  /**
   * Counts the bytes of one backend's changelog that no durable materialization holds, from any
   * thread, until the answer is run.
   */
  Runnable countUnmaterialized(LongSupplier bytes) {
    unmaterialized.add(bytes);
    return () -> unmaterialized.remove(bytes);
  }

  long nanoTime() {
    return execution.nanoTime();
  }

  /** The sync part that began at {@code startNanos} is over. */
  void synced(long startNanos) {
    syncMicros.record((execution.nanoTime() - startNanos) / 1000);
  }

  /** The checkpoint that began at {@code startNanos} is durable. */
  void durable(long startNanos) {
    durableMicros.record((execution.nanoTime() - startNanos) / 1000);
  }

  /** A restore of the checkpoint would replay so many bytes of changelog. */
  void tail(long bytes) {
    tailBytes.record(bytes);
    replayMillis.record(replaySpeed.estimate(bytes).toMillis());
  }
}
