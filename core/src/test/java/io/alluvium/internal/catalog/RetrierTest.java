package io.alluvium.internal.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What ends a call that is repeated. */
class RetrierTest {

  private final StepExecution execution = new StepExecution();
  private final Retrier retrier = new Retrier(execution, new Random(1), Duration.ofSeconds(60));
  private int calls;

  /** Nobody would end the pause; the caller may call again. */
  @Test
  void call_noTimerForAPause_failsWithWhatTheStoreSaid() {
    execution.refuseTimers(new OutOfMemoryError("unable to create native thread"));
    Expect.failure(
        Kind.UNAVAILABLE,
        () ->
            retrier.call(
                () -> {
                  calls++;
                  throw StateBackendException.unavailable("away", new IllegalStateException());
                }),
        "away");
    assertThat(calls).isEqualTo(1);
  }
}
