package io.alluvium.cli.runner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.cli.input.JobException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class StorageWatchTest {
  private final StateBackendException noAnswer =
      StateBackendException.of(Kind.UNAVAILABLE, "nothing answers");
  private final StateBackendException denied =
      StateBackendException.unavailable(
          "cannot store: denied", StateBackendException.invalid("denied"));

  private final MemoryMetrics metrics = new MemoryMetrics();
  private final Told told = new Told();
  private final StorageWatch local = new StorageWatch(metrics, "/store", Duration.ZERO, told);
  private final StorageWatch remote =
      new StorageWatch(metrics, "s3://store", Duration.ofMinutes(10), told);

  @Test
  void check_failuresAndNoSuccess_throwsAfterAWhile() {
    metrics.counter("changelog.upload.failures").add(3);
    local.check(seconds(0));
    metrics.counter("changelog.upload.failures").add(2);
    local.check(seconds(29));
    assertThatThrownBy(() -> local.check(seconds(31)))
        .isInstanceOf(JobException.class)
        .hasMessageStartingWith(
            "the changelog could not be stored in '/store' for 31 s (2 uploads");
  }

  @Test
  void check_slowButWithoutFailures_isPatient() {
    local.check(seconds(0));
    local.check(seconds(300));
  }

  @Test
  void check_aSuccess_startsTheTimeAnew() {
    local.check(seconds(0));
    metrics.counter("changelog.upload.failures").add(2);
    metrics.counter("changelog.upload.segments").add(1);
    local.check(seconds(31));
    local.check(seconds(62));
    metrics.counter("changelog.upload.failures").add(1);
    assertThatThrownBy(() -> local.check(seconds(63))).hasMessageContaining("(1 uploads failed)");
  }

  @Test
  void reset_forgetsWhatWasBefore() {
    local.check(seconds(0));
    metrics.counter("changelog.upload.failures").add(2);
    local.reset();
    local.check(seconds(31));
    local.check(seconds(90));
  }

  @Test
  void check_outage_waitsAsLongAsTolerated_andTellsNowAndThen() {
    remote.check(seconds(0));
    metrics.counter("changelog.upload.failures").add(2);
    for (int second = 1; second <= 600; second++) {
      remote.check(seconds(second));
    }
    assertThat(told.lines).hasSize(20);
    assertThat(told.lines.get(0))
        .isEqualTo(
            "no checkpoint could be stored in 's3://store' for 30 s; the job goes on as far as its"
                + " memory lasts and waits up to 10m for storage");
    assertThatThrownBy(() -> remote.check(seconds(601))).isInstanceOf(JobException.class);
  }

  @Test
  void check_refusedForAReasonThatStays_doesNotWaitForTheEndOfAnOutage() {
    remote.check(seconds(0));
    metrics.counter("changelog.upload.failures").add(2);
    metrics.counter("changelog.upload.refusals").add(1);
    remote.check(seconds(30));
    assertThatThrownBy(() -> remote.check(seconds(31))).isInstanceOf(JobException.class);
  }

  @Test
  void failed_inAnOutage_isToldOnce_andTheJobGoesOn() {
    for (int second = 0; second < 60; second += 2) {
      remote.failed(second, noAnswer, seconds(second));
    }
    assertThat(told.lines)
        .containsExactly(
            "0: nothing answers; the job goes on as far as its memory lasts and waits up to 10m for"
                + " storage",
            "no checkpoint could be stored in 's3://store' for 30 s; the job goes on as far as its"
                + " memory lasts and waits up to 10m for storage");
    remote.confirmed(seconds(61));
    assertThat(told.lines.get(2))
        .isEqualTo("storage answers again after 61 s; checkpoints that failed meanwhile: 30");
    remote.confirmed(seconds(62));
    assertThat(told.lines).hasSize(3);
  }

  @Test
  void failed_longerThanIsTolerated_throws() {
    remote.failed(1, noAnswer, seconds(0));
    remote.failed(2, noAnswer, seconds(599));
    assertThatThrownBy(() -> remote.failed(3, noAnswer, seconds(600)))
        .isInstanceOf(JobException.class)
        .hasMessage(
            "no checkpoint could be stored for 600 s, 3 failed (nothing answers); once that is"
                + " mended, run the same command again: it resumes from the newest confirmed"
                + " checkpoint");
  }

  /** Between refusals the store may also be away; only a confirmed checkpoint clears the count. */
  @Test
  void failed_threeTimesForAReasonThatStays_throws() {
    remote.failed(1, denied, seconds(0));
    remote.failed(2, denied, seconds(1));
    remote.confirmed(seconds(2));
    remote.failed(3, denied, seconds(3));
    remote.failed(4, noAnswer, seconds(4));
    remote.failed(5, denied, seconds(5));
    assertThatThrownBy(() -> remote.failed(6, denied, seconds(6)))
        .isInstanceOf(JobException.class)
        .hasMessage(
            "3 checkpoints in a row failed (cannot store: denied); once that is mended, run the"
                + " same command again: it resumes from the newest confirmed checkpoint");
  }

  @Test
  void failed_threeTimesInALocalDirectory_throws() {
    local.failed(1, noAnswer, seconds(0));
    local.failed(2, noAnswer, seconds(1));
    assertThat(told.lines).containsExactly("1: nothing answers", "2: nothing answers");
    assertThatThrownBy(() -> local.failed(3, noAnswer, seconds(2)))
        .hasMessageStartingWith("3 checkpoints in a row failed (nothing answers)");
  }

  @Test
  void unknown_waitsInAnOutage_andForNothingElse() {
    remote.unknown(1, noAnswer, seconds(0), seconds(60));
    assertThat(told.lines)
        .containsExactly(
            "it is unknown whether checkpoint 1 was stored (nothing answers); the job goes on as far"
                + " as its memory lasts and waits up to 10m for storage");
    assertThatThrownBy(() -> remote.unknown(1, noAnswer, seconds(0), seconds(600)))
        .isInstanceOf(JobException.class);
    assertThatThrownBy(() -> remote.unknown(1, denied, seconds(0), seconds(61)))
        .isInstanceOf(JobException.class)
        .hasMessageStartingWith("it is unknown whether checkpoint 1 was stored (denied)");
    assertThatThrownBy(() -> local.unknown(1, noAnswer, seconds(0), seconds(1)))
        .isInstanceOf(JobException.class);
  }

  private static long seconds(long seconds) {
    return TimeUnit.SECONDS.toNanos(seconds);
  }

  /** Keeps what was told. */
  private static final class Told extends SilentListener {
    private final List<String> lines = new ArrayList<>();

    @Override
    public void failed(long checkpointId, String reason) {
      lines.add(checkpointId + ": " + reason);
    }

    @Override
    public void storage(String what) {
      lines.add(what);
    }
  }
}
