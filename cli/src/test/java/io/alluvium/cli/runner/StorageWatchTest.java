package io.alluvium.cli.runner;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.cli.input.JobException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class StorageWatchTest {
  private final MemoryMetrics metrics = new MemoryMetrics();
  private final StorageWatch watch = new StorageWatch(metrics, "/store");

  @Test
  void check_failuresAndNoSuccess_throwsAfterAWhile() {
    metrics.counter("changelog.upload.failures").add(3);
    watch.check(seconds(0));
    metrics.counter("changelog.upload.failures").add(2);
    watch.check(seconds(29));
    assertThatThrownBy(() -> watch.check(seconds(31)))
        .isInstanceOf(JobException.class)
        .hasMessageStartingWith(
            "the changelog could not be stored in '/store' for 30 s (2 uploads");
  }

  @Test
  void check_slowButWithoutFailures_isPatient() {
    watch.check(seconds(0));
    watch.check(seconds(300));
  }

  @Test
  void check_aSuccess_startsTheTimeAnew() {
    watch.check(seconds(0));
    metrics.counter("changelog.upload.failures").add(2);
    metrics.counter("changelog.upload.segments").add(1);
    watch.check(seconds(31));
    watch.check(seconds(62));
    metrics.counter("changelog.upload.failures").add(1);
    assertThatThrownBy(() -> watch.check(seconds(63))).hasMessageContaining("(1 uploads failed)");
  }

  @Test
  void reset_forgetsWhatWasBefore() {
    watch.check(seconds(0));
    metrics.counter("changelog.upload.failures").add(2);
    watch.reset();
    watch.check(seconds(31));
    watch.check(seconds(90));
  }

  private static long seconds(long seconds) {
    return TimeUnit.SECONDS.toNanos(seconds);
  }
}
