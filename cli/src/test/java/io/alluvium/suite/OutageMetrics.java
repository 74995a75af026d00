package io.alluvium.suite;

import io.alluvium.spi.Metrics;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** What the log says about its memory and about those that wait for it. Thread-safe. */
final class OutageMetrics implements Metrics {

  private final Map<String, LongSupplier> gauges = new ConcurrentHashMap<>();
  private final AtomicLong backpressureMicros = new AtomicLong();
  private final AtomicLong mostInFlightBytes = new AtomicLong();

  @Override
  public Counter counter(String name) {
    return delta -> {};
  }

  @Override
  public Histogram histogram(String name) {
    return value -> {
      if (name.equals("changelog.backpressure.micros")) {
        backpressureMicros.addAndGet(value);
      }
    };
  }

  @Override
  public void gauge(String name, LongSupplier value) {
    gauges.put(name, value);
  }

  /** Looks at the memory now; tells the bytes in flight. */
  long sample() {
    LongSupplier inFlight = gauges.get("changelog.inflight.bytes");
    if (inFlight == null) {
      throw new AssertionError("there is no changelog.inflight.bytes among " + gauges.keySet());
    }
    long bytes = inFlight.getAsLong();
    mostInFlightBytes.accumulateAndGet(bytes, Math::max);
    return bytes;
  }

  long backpressureMicros() {
    return backpressureMicros.get();
  }

  long mostInFlightBytes() {
    return mostInFlightBytes.get();
  }
}
