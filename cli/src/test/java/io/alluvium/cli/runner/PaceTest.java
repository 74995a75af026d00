package io.alluvium.cli.runner;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class PaceTest {
  @Test
  void take_spreadsRecordsEvenly() {
    Pace pace = new Pace(1000, 0);
    assertThat(pace.take(0)).isZero();
    assertThat(pace.take(0)).isEqualTo(1_000_000);
    assertThat(pace.take(1_000_000)).isEqualTo(1_000_000);
  }

  @Test
  void take_afterALongStop_catchesUpATenthOfASecondOnly() {
    Pace pace = new Pace(1000, 0);
    long now = 10_000_000_000L;
    int atOnce = 0;
    while (pace.take(now) <= 0) {
      atOnce++;
    }
    assertThat(atOnce).isBetween(100, 101);
  }
}
