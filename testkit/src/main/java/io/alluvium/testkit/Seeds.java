package io.alluvium.testkit;

import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * The seeds of a randomized test. {@code -Dseed=S} replays one seed, {@code -Dseeds=N} runs N
 * seeds, {@code -Pfull} runs ten times the usual number. Stateless.
 */
public final class Seeds {

  private static final int FULL_FACTOR = 10;

  private Seeds() {}

  /**
   * The seeds to run.
   *
   * @param usual number of seeds without an option on the command line
   */
  public static Stream<Long> of(int usual) {
    String seed = System.getProperty("seed");
    if (seed != null) {
      return Stream.of(Long.parseLong(seed));
    }
    return LongStream.range(1, 1L + count(usual)).boxed();
  }

  /** Number of seeds that {@link #of} returns without {@code -Dseed}. */
  public static int count(int usual) {
    String seeds = System.getProperty("seeds");
    if (seeds != null) {
      return Integer.parseInt(seeds);
    }
    return full() ? FULL_FACTOR * usual : usual;
  }

  /** Whether to run the long versions of tests ({@code -Pfull}). */
  public static boolean full() {
    return Boolean.getBoolean("alluvium.full");
  }
}
