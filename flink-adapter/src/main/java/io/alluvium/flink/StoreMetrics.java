package io.alluvium.flink;

import io.alluvium.flink.CheckpointFiles.Purpose;
import io.alluvium.spi.Metrics;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;

/**
 * Counts the files that go into Flink's checkpoint storage, by what they are for, and the attempts
 * that it took. Thread-safe.
 */
final class StoreMetrics {

  private record OfPurpose(
      Metrics.Counter files, Metrics.Counter bytes, Metrics.Histogram micros) {}

  private final Map<Purpose, OfPurpose> purposes = new EnumMap<>(Purpose.class);
  private final Metrics.Counter inlineBytes;
  private final Metrics.Counter failures;
  private final Metrics.Counter retries;
  private final Metrics.Counter hedges;
  private final Metrics.Counter decisiveHedges;
  private final Metrics.Histogram asyncMicros;

  StoreMetrics(Metrics metrics) {
    for (Purpose purpose : Purpose.values()) {
      String name = "store." + purpose.name().toLowerCase(Locale.ROOT) + ".put.";
      purposes.put(
          purpose,
          new OfPurpose(
              metrics.counter(name + "count"),
              metrics.counter(name + "bytes"),
              metrics.histogram(name + "micros")));
    }
    inlineBytes = metrics.counter("store.inline.bytes");
    failures = metrics.counter("store.failed.count");
    retries = metrics.counter("store.retry.count");
    hedges = metrics.counter("store.hedge.count");
    decisiveHedges = metrics.counter("store.hedge.decisive.count");
    asyncMicros = metrics.histogram("checkpoint.async.micros");
  }

  /** An attempt succeeded; one whose bytes go into Flink's metadata made no file. */
  void stored(Purpose purpose, StreamStateHandle handle, long micros) {
    OfPurpose of = purposes.get(purpose);
    if (handle instanceof ByteStreamStateHandle) {
      inlineBytes.add(handle.getStateSize());
    } else if (of != null) {
      of.bytes.add(handle.getStateSize());
      of.micros.record(micros);
      // Last: who sees the file sees its bytes too.
      of.files.add(1);
    }
  }

  /** An attempt failed. */
  void failed() {
    failures.add(1);
  }

  /**
   * An attempt is made that is not the first.
   *
   * @param beside whether another one is under way, which is slow
   */
  void again(boolean beside) {
    (beside ? hedges : retries).add(1);
  }

  /** An attempt beside a slow one came first. */
  void hedgeDecided() {
    decisiveHedges.add(1);
  }

  /** The asynchronous part of a checkpoint has stored all its files. */
  void checkpointStored(long micros) {
    asyncMicros.record(micros);
  }
}
