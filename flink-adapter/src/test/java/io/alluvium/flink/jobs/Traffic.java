package io.alluvium.flink.jobs;

import java.io.Serializable;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * A repeatable set of events in slices; within a slice, event time grows with the position.
 * Immutable.
 *
 * @param slices how many readers can share it
 * @param sizePerSlice events of one slice
 */
public record Traffic(long seed, int slices, long sizePerSlice, int keys) implements Serializable {

  /** Event time between two positions of a slice. */
  static final int STEP_MILLIS = 10;

  /** The event at a position. */
  public Event at(int slice, long position) {
    long random = mixed(seed * 31 + slice * 0x9E3779B97F4A7C15L + position * 0xD1B54A32D192ED03L);
    return new Event(
        (random >>> 1) % keys,
        position * STEP_MILLIS + Math.floorMod(random >>> 40, STEP_MILLIS),
        (random >>> 20) & 0xFFF);
  }

  /** Every event once. */
  public Stream<Event> all() {
    return IntStream.range(0, slices)
        .boxed()
        .flatMap(
            slice -> LongStream.range(0, sizePerSlice).mapToObj(position -> at(slice, position)));
  }

  /** Another set of the same shape. */
  public Traffic other() {
    return new Traffic(seed + 1_000_003, slices, sizePerSlice, keys);
  }

  /** The finalizer of SplitMix64 (Steele, Lea, Flood, 2014). */
  private static long mixed(long z) {
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
