package io.alluvium.internal.restore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Execution;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Whatever a read, a thread or a timer ends with, who waits for it hears of it. */
class ReadsTest {

  private final Steps execution = new Steps();
  private final Reads reads = new Reads(execution);
  private int attempts;

  /** Runs everything at once on the test's thread; hand-offs may be refused. */
  private static final class Steps implements Execution {
    private final Deque<Error> refusedThreads = new ArrayDeque<>();
    private final Deque<Error> refusedTimers = new ArrayDeque<>();

    private static void refuse(Deque<Error> errors) {
      Error error = errors.poll();
      if (error != null) {
        throw error;
      }
    }

    @Override
    public long nanoTime() {
      return 0;
    }

    @Override
    public long currentTimeMillis() {
      return 0;
    }

    @Override
    public Executor uploads() {
      return downloads();
    }

    @Override
    public Executor downloads() {
      return task -> {
        refuse(refusedThreads);
        task.run();
      };
    }

    @Override
    public Executor materializations() {
      return downloads();
    }

    /** As the scheduler's thread does: what a task throws is lost. */
    @Override
    public Scheduled schedule(Duration delay, Runnable task) {
      refuse(refusedTimers);
      try {
        task.run();
      } catch (RuntimeException | Error e) {
        // Nobody hears of it.
      }
      return () -> {};
    }

    @Override
    public <T> T await(CompletableFuture<T> future) {
      return future.join();
    }

    @Override
    public void close() {}
  }

  private Supplier<Integer> failing(int times, Supplier<? extends Throwable> failure) {
    return () -> {
      if (++attempts <= times) {
        Throwable thrown = failure.get();
        if (thrown instanceof Error error) {
          throw error;
        }
        throw (RuntimeException) thrown;
      }
      return 7;
    };
  }

  private static StateBackendException away() {
    return StateBackendException.unavailable("away", new IllegalStateException());
  }

  @Test
  void run_threadCannotBeStartedForARepeatedRead_isTriedAgain() {
    execution.refusedThreads.add(new OutOfMemoryError("unable to create native thread"));
    assertThat(reads.run(failing(1, ReadsTest::away))).isCompletedWithValue(7);
    assertThat(attempts).isEqualTo(2);
  }

  @Test
  void run_noThreadAtAll_failsAsUnavailable() {
    for (int i = 0; i < 10; i++) {
      execution.refusedThreads.add(new OutOfMemoryError("unable to create native thread"));
    }
    CompletableFuture<Integer> read = reads.run(() -> 7);
    assertThat(read).isCompletedExceptionally();
    assertThatThrownBy(() -> reads.run(() -> 7).join())
        .cause()
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNAVAILABLE));
  }

  @Test
  void retry_readThatIsStartedAgainEndsInAnError_failsWithIt() {
    CompletableFuture<Integer> read =
        reads.retry(
            () -> {
              if (++attempts == 1) {
                return CompletableFuture.failedFuture(away());
              }
              throw new OutOfMemoryError("test");
            });
    assertThat(read).isCompletedExceptionally();
    assertThatThrownBy(read::join).hasRootCauseInstanceOf(OutOfMemoryError.class);
  }

  @Test
  void run_noTimerForTheNextAttempt_failsWithWhatTheStoreSaid() {
    execution.refusedTimers.add(new OutOfMemoryError("unable to create native thread"));
    CompletableFuture<Integer> read = reads.run(failing(1, ReadsTest::away));
    assertThat(read).isCompletedExceptionally();
    assertThatThrownBy(read::join).cause().hasMessageContaining("away");
  }

  @Test
  void run_storageIsAwayForLong_isToldOnceBeforeItFails() {
    PrintStream before = System.err;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
    try {
      assertThat(reads.run(failing(2, ReadsTest::away))).isCompletedWithValue(7);
      assertThat(said.toString(StandardCharsets.UTF_8)).as("of a short outage").isEmpty();
      for (int i = 0; i < 3; i++) {
        attempts = 0;
        assertThat(reads.run(failing(3, ReadsTest::away))).isCompletedWithValue(7);
      }
    } finally {
      System.setErr(before);
    }
    assertThat(said.toString(StandardCharsets.UTF_8).lines())
        .singleElement()
        .asString()
        .contains("a restore waits for storage, 3 of 5 attempts at a read have failed: away");
  }
}
