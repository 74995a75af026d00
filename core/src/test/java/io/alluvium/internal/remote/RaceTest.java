package io.alluvium.internal.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.execution.ThreadedExecution;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What goes beyond HedgingTest, which runs whole puts in a simulation. */
class RaceTest {

  private final ThreadedExecution execution =
      new ThreadedExecution(new ThreadedExecution.Sizes(1, 1, 1));

  @AfterEach
  void stop() {
    execution.close();
  }

  @Test
  void run_firstEndsInAnError_waitsUntilTheSecondHasLetGo() {
    CountDownLatch secondRuns = new CountDownLatch(1);
    AtomicBoolean secondEnded = new AtomicBoolean();
    CompletableFuture<Race<String>> self = new CompletableFuture<>();
    Thread caller = Thread.currentThread();
    Race<String> race =
        new Race<>(
            execution,
            givenUp -> {
              if (Thread.currentThread() == caller) {
                self.join().second(() -> {}, () -> {});
                await(secondRuns);
                throw new OutOfMemoryError("test");
              }
              secondRuns.countDown();
              awaitGivenUp(givenUp);
              secondEnded.set(true);
              throw StateBackendException.of(Kind.UNAVAILABLE, "given up");
            });
    self.complete(race);
    assertThatThrownBy(race::run).isInstanceOf(OutOfMemoryError.class);
    assertThat(secondEnded).isTrue();
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** As a request that takes a while to notice. */
  private static void awaitGivenUp(CompletableFuture<?> givenUp) {
    try {
      Object unused = givenUp.get(20, TimeUnit.SECONDS);
      Thread.sleep(50);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
