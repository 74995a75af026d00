package io.alluvium.testkit.sim;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Random choices from a seed. Used by one thread at a time. */
public final class RandomChoices implements Choices {

  /*
   * Turns are drawn with weights per process, which change at random steps. A process of small weight is practically
   * stalled while others run. Uniform turns would never produce this: a zombie owner that sleeps during hundreds of
   * steps of its successor. The rate of switches also differs between runs. (After the randomized scheduler with
   * priority change points of Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding
   * Bugs", 2010.)
   */
  private static final double[] WEIGHTS = {1, 1, 0.3, 0.01, 0.0003};
  private static final double[] TIME_WEIGHTS = {0, 0.002, 0.05};
  private static final double[] STICKINESS = {0, 0.5, 0.9};

  private final long seed;
  private final Random random;
  private final double stickiness;
  private final double timeWeight;
  private final Map<String, Double> weights = new HashMap<>();
  private int untilChange;

  public RandomChoices(long seed) {
    this.seed = seed;
    random = new Random(seed);
    stickiness = STICKINESS[random.nextInt(STICKINESS.length)];
    timeWeight = TIME_WEIGHTS[random.nextInt(TIME_WEIGHTS.length)];
  }

  @Override
  public int next(List<String> candidates, int current) {
    if (--untilChange <= 0) {
      weights.clear();
      untilChange = 10 + random.nextInt(300);
    }
    if (current >= 0 && random.nextDouble() < stickiness) {
      return current;
    }
    double sum = 0;
    for (String candidate : candidates) {
      sum += weight(candidate);
    }
    double dart = random.nextDouble() * sum;
    for (int i = 0; i < candidates.size(); i++) {
      dart -= weight(candidates.get(i));
      if (dart < 0) {
        return i;
      }
    }
    return 0;
  }

  private double weight(String candidate) {
    if (candidate.equals(Simulation.TIME)) {
      return timeWeight;
    }
    return weights.computeIfAbsent(candidate, name -> WEIGHTS[random.nextInt(WEIGHTS.length)]);
  }

  @Override
  public boolean fault(double probability) {
    return probability > 0 && random.nextDouble() < probability;
  }

  @Override
  public int choose(int bound) {
    return random.nextInt(bound);
  }

  @Override
  public long seed() {
    return seed;
  }
}
