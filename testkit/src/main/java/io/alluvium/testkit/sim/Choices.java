package io.alluvium.testkit.sim;

import java.util.List;

/**
 * Makes all nondeterministic decisions of a simulation. The same choices give the same run. Used by
 * one thread at a time.
 */
public interface Choices {

  /**
   * Chooses the next actor.
   *
   * @param candidates names of the processes of the runnable actors, in the order of their
   *     creation; the last one may be {@link Simulation#TIME}, which advances the time
   * @param current index of the actor that ran last, or -1 if it is not runnable
   * @return index of the chosen candidate
   */
  int next(List<String> candidates, int current);

  /**
   * Decides whether a possible fault happens now.
   *
   * @param probability for random choices; 0 means never
   */
  boolean fault(double probability);

  /** Chooses a number in {@code [0, bound)}. */
  int choose(int bound);

  /** Seed for random generators inside of the simulated code; constant within a run. */
  long seed();
}
