package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.spi.Execution;
import io.alluvium.testkit.ThreadExecution;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The hint that the tables lie on a slow disk. */
final class DiskProbeTest {

  @TempDir Path directory;

  /** A clock that moves on by a fixed step whenever somebody looks at it. */
  private static Execution clock(long stepNanos) {
    AtomicLong now = new AtomicLong();
    ThreadExecution rest = new ThreadExecution();
    return (Execution)
        Proxy.newProxyInstance(
            DiskProbeTest.class.getClassLoader(),
            new Class<?>[] {Execution.class},
            (proxy, method, arguments) ->
                method.getName().equals("nanoTime")
                    ? now.addAndGet(stepNanos)
                    : method.invoke(rest, arguments));
  }

  @Test
  void check_slowDisk_saysSoOnce() throws IOException {
    DiskProbe probe = new DiskProbe(clock(DiskProbe.SLOW_NANOS + 1));
    assertThat(probe.check(directory)).isTrue();
    assertThat(probe.check(directory)).isFalse();
    assertLeavesNothing();
  }

  @Test
  void check_fastDisk_saysNothing() throws IOException {
    assertThat(new DiskProbe(clock(DiskProbe.SLOW_NANOS)).check(directory)).isFalse();
    assertLeavesNothing();
  }

  private void assertLeavesNothing() throws IOException {
    try (var files = Files.list(directory)) {
      assertThat(files).isEmpty();
    }
  }
}
