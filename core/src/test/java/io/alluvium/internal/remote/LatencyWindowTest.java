package io.alluvium.internal.remote;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

class LatencyWindowTest {

  private final LatencyWindow window = new LatencyWindow(1_000_000);

  @Test
  void bound_fewRequests_isTheOneForColdStart() {
    for (int i = 0; i < 19; i++) {
      window.add(10);
    }
    assertThat(window.boundNanos()).isEqualTo(1_000_000);
    window.add(10);
    assertThat(window.boundNanos()).isEqualTo(20);
  }

  @Test
  void bound_allAboutTheSame_isTwiceTheMedian() {
    Random random = new Random(1);
    for (int i = 0; i < 1_000; i++) {
      window.add(100 + random.nextInt(20));
    }
    assertThat(window.boundNanos()).isBetween(200L, 240L);
  }

  @Test
  void bound_oneOfHundredSlow_isThatOfTheOthers() {
    Random random = new Random(1);
    for (int i = 0; i < 10_000; i++) {
      window.add(i % 100 == 0 ? 2_000_000 : 100 + random.nextInt(900));
    }
    assertThat(window.boundNanos()).isBetween(970L, 1_200L);
  }

  @Test
  void bound_everythingSlower_followsWithinTheWindow() {
    for (int i = 0; i < 1_000; i++) {
      window.add(100);
    }
    for (int i = 0; i < 1_000; i++) {
      window.add(5_000);
    }
    assertThat(window.boundNanos()).isEqualTo(10_000);
  }

  @Test
  void budget_isAShareOfWhatIsNecessary() {
    RequestBudget budget = new RequestBudget(0.03, 10);
    int second = 0;
    for (int i = 0; i < 10_000; i++) {
      budget.earn();
      second += budget.spend() ? 1 : 0;
    }
    assertThat(second).isBetween(305, 310);
    assertThat(budget.spend()).isFalse();
    budget.giveBack();
    assertThat(budget.spend()).isTrue();
  }
}
