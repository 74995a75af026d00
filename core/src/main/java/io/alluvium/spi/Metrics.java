package io.alluvium.spi;

import java.util.function.LongSupplier;

/**
 * Where measurements go. An implementation forwards to whatever the process uses; {@link #NONE}
 * drops them. Names are lower-case, dotted, and end in a unit ({@code log.upload.bytes}, {@code
 * checkpoint.sync.micros}). Thread-safe.
 */
public interface Metrics {

  /** Counts up. */
  interface Counter {
    void add(long delta);
  }

  /** Takes single measurements, for percentiles. */
  interface Histogram {
    void record(long value);
  }

  Counter counter(String name);

  Histogram histogram(String name);

  /**
   * Registers a value that is read when somebody looks; a second registration of a name replaces
   * the first.
   */
  void gauge(String name, LongSupplier value);

  /** Drops everything. */
  Metrics NONE =
      new Metrics() {
        @Override
        public Counter counter(String name) {
          return delta -> {};
        }

        @Override
        public Histogram histogram(String name) {
          return value -> {};
        }

        @Override
        public void gauge(String name, LongSupplier value) {}
      };
}
