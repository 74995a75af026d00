package io.alluvium.testkit.sim;

import java.util.List;

/**
 * The default order without faults, for tests that direct a run by holding and releasing actors.
 * The current actor continues while it is runnable, then the oldest runnable one. Time advances if
 * no actor is runnable. Stateless.
 */
public final class InOrder implements Choices {

  @Override
  public int next(List<String> candidates, int current) {
    return Math.max(0, current);
  }

  @Override
  public boolean fault(double probability) {
    return false;
  }

  @Override
  public int choose(int bound) {
    return 0;
  }

  @Override
  public long seed() {
    return 1;
  }
}
