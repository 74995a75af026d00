package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** Waits for what other threads do in a moment. Stateless. */
public final class Eventually {

  private Eventually() {}

  /** Returns when the condition holds; fails after half a minute. */
  public static void that(Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!condition.call()) {
      assertThat(System.nanoTime()).as("deadline").isLessThan(deadline);
      Thread.sleep(2);
    }
  }
}
