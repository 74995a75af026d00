package io.alluvium.testkit.sim;

import java.util.List;

/**
 * Nothing left to chance, for traces that a test directs by holding and releasing: an actor goes on
 * as long as it can, then the oldest one that can; time passes when nobody can; nothing goes wrong.
 * Stateless.
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
