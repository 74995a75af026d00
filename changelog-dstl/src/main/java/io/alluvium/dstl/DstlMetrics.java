package io.alluvium.dstl;

import io.alluvium.StateBackendException;
import io.alluvium.spi.Metrics;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** What a log tells about itself. Thread-safe. */
final class DstlMetrics {

  private final Metrics.Counter segments;
  private final Metrics.Counter blocks;
  private final Metrics.Counter bytes;
  private final Metrics.Counter failures;
  private final Metrics.Counter refusals;
  private final Metrics.Histogram uploadMicros;
  private final Metrics.Histogram backpressureMicros;

  DstlMetrics(Metrics metrics, LongSupplier inFlightBytes) {
    segments = metrics.counter("changelog.upload.segments");
    blocks = metrics.counter("changelog.upload.blocks");
    bytes = metrics.counter("changelog.upload.bytes");
    failures = metrics.counter("changelog.upload.failures");
    refusals = metrics.counter("changelog.upload.refusals");
    uploadMicros = metrics.histogram("changelog.upload.micros");
    backpressureMicros = metrics.histogram("changelog.backpressure.micros");
    metrics.gauge("changelog.inflight.bytes", inFlightBytes);
  }

  void uploaded(int blockCount, long sizeBytes, long nanos) {
    blocks.add(blockCount);
    bytes.add(sizeBytes);
    uploadMicros.record(nanos / 1000);
    // Last: who sees the segment sees its blocks too.
    segments.add(1);
  }

  /** An attempt failed; without a cause when it only took too long. */
  void uploadFailed(@Nullable Throwable cause) {
    failures.add(1);
    if (cause instanceof StateBackendException known
        && known.kind() != StateBackendException.Kind.UNAVAILABLE) {
      refusals.add(1);
    }
  }

  void backpressured(long nanos) {
    backpressureMicros.record(nanos / 1000);
  }
}
