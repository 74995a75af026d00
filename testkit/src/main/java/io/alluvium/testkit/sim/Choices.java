package io.alluvium.testkit.sim;

import java.util.List;

/**
 * Decides everything that a simulation leaves open. The same choices give the same run. Used by one
 * thread at a time.
 */
public interface Choices {

  /**
   * Whose turn it is.
   *
   * @param candidates names of the processes that the runnable actors belong to, in the order in
   *     which the actors were made; the last one may be {@link Simulation#TIME}, the passing of
   *     time
   * @param current index of the actor that ran last, or -1 when it cannot go on
   */
  int next(List<String> candidates, int current);

  /**
   * Whether something that may go wrong goes wrong now.
   *
   * @param probability for choices made at random; 0 = never
   */
  boolean fault(double probability);

  /** A number in {@code [0, bound)}. */
  int choose(int bound);

  /** Starts the sources of randomness inside of what is simulated; the same within a run. */
  long seed();
}
