package io.alluvium.testkit;

import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * The seeds of a randomized test. {@code -Dseed=S} replays one, {@code -Dseeds=N} asks for that
 * many, {@code -Pfull} for ten times as many as usual.
 */
public final class Seeds {

  private static final int FULL_FACTOR = 10;

  private Seeds() {}

  /**
   * The seeds to run.
   *
   * @param usual how many when the command line says nothing
   */
  public static Stream<Long> of(int usual) {
    String seed = System.getProperty("seed");
    if (seed != null) {
      return Stream.of(Long.parseLong(seed));
    }
    return LongStream.range(1, 1L + count(usual)).boxed();
  }

  /** How many seeds {@link #of} gives when none is named. */
  public static int count(int usual) {
    String seeds = System.getProperty("seeds");
    if (seeds != null) {
      return Integer.parseInt(seeds);
    }
    return full() ? FULL_FACTOR * usual : usual;
  }

  /** Whether the long versions of the tests were asked for ({@code -Pfull}). */
  public static boolean full() {
    return Boolean.getBoolean("alluvium.full");
  }
}
