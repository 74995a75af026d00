package io.alluvium.cli.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.cli.input.JobException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class SlidingWindowsTest {
  @Test
  void starts_ofATime_areAllWindowsThatHoldIt() {
    assertThat(starts(new SlidingWindows(60, 10), 35))
        .containsExactly(30L, 20L, 10L, 0L, -10L, -20L);
  }

  @Test
  void starts_atABorder_beginOneAndEndAnother() {
    assertThat(starts(new SlidingWindows(20, 10), 20)).containsExactly(20L, 10L);
  }

  @Test
  void starts_beforeTheEpoch_countFromItToo() {
    assertThat(starts(new SlidingWindows(20, 10), -1)).containsExactly(-10L, -20L);
    assertThat(starts(new SlidingWindows(20, 10), -10)).containsExactly(-10L, -20L);
    assertThat(starts(new SlidingWindows(20, 10), -11)).containsExactly(-20L, -30L);
  }

  @Test
  void starts_slideLongerThanWindow_leavesGaps() {
    assertThat(starts(new SlidingWindows(5, 10), 4)).containsExactly(0L);
    assertThat(starts(new SlidingWindows(5, 10), 5)).isEmpty();
    assertThat(starts(new SlidingWindows(5, 10), -6)).containsExactly(-10L);
  }

  @Test
  void starts_slideThatDoesNotDivideTheWindow() {
    assertThat(starts(new SlidingWindows(25, 10), 24)).containsExactly(20L, 10L, 0L);
    assertThat(starts(new SlidingWindows(25, 10), 25)).containsExactly(20L, 10L);
  }

  @Test
  void job_tooManyWindowsAnEvent_isRefused() {
    assertThatThrownBy(() -> job(Duration.ofHours(24), Duration.ofMillis(1)))
        .isInstanceOf(JobException.class)
        .hasMessage("--window 1d is more than 10000 times --slide 1ms; make the slide longer");
  }

  @Test
  void job_durationOutOfRange_isRefused() {
    assertThatThrownBy(() -> job(Duration.ZERO, Duration.ofMillis(1)))
        .hasMessage("--window 0s must be whole milliseconds from 1ms to 3650d");
    assertThatThrownBy(() -> job(Duration.ofMillis(5), Duration.ofNanos(1_500_000)))
        .hasMessage("--slide 1500us must be whole milliseconds from 1ms to 3650d");
  }

  private static SlidingWindowJob job(Duration window, Duration slide) {
    return new SlidingWindowJob("k", "t", "v", window, slide, Duration.ZERO);
  }

  private static List<Long> starts(SlidingWindows windows, long time) {
    List<Long> starts = new ArrayList<>();
    for (long start = windows.lastStart(time);
        windows.holds(start, time);
        start -= windows.slideMillis()) {
      starts.add(start);
    }
    return starts;
  }
}
