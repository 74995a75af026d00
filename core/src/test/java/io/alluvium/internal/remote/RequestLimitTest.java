package io.alluvium.internal.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.internal.execution.ThreadedExecution;
import io.alluvium.internal.remote.RequestLimit.Urgency;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RequestLimitTest {

  private final ThreadedExecution execution =
      new ThreadedExecution(new ThreadedExecution.Sizes(1, 1, 1));
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final RequestLimit limit = new RequestLimit(execution);
  private final List<String> running = new CopyOnWriteArrayList<>();

  @AfterEach
  void stop() {
    threads.shutdownNow();
    execution.close();
  }

  /** A request that runs until it is told to end. */
  private CountDownLatch begin(String name, Urgency urgency) {
    CountDownLatch end = new CountDownLatch(1);
    threads.execute(
        () ->
            limit.call(
                urgency,
                () -> {
                  running.add(name);
                  try {
                    end.await();
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                  return running.remove(name);
                }));
    return end;
  }

  private static void eventually(BooleanSupplier condition) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("nothing happened").isLessThan(deadline);
      Thread.sleep(2);
    }
  }

  @Test
  void noComplaint_noLimit() throws InterruptedException {
    for (int i = 0; i < 50; i++) {
      CountDownLatch unused = begin("r" + i, i % 2 == 0 ? Urgency.FOREGROUND : Urgency.BACKGROUND);
    }
    eventually(() -> running.size() == 50);
    assertThat(limit.complainedLately()).isFalse();
  }

  @Test
  void complaint_halvesOnceAndLetsTheForegroundGoFirst() throws InterruptedException {
    List<CountDownLatch> first =
        List.of(
            begin("a", Urgency.FOREGROUND),
            begin("b", Urgency.FOREGROUND),
            begin("c", Urgency.BACKGROUND),
            begin("d", Urgency.BACKGROUND));
    eventually(() -> running.size() == 4);
    limit.throttled();
    limit.throttled();
    assertThat(limit.current()).isEqualTo(2);
    assertThat(limit.complainedLately()).isTrue();

    CountDownLatch table = begin("table", Urgency.BACKGROUND);
    CountDownLatch log = begin("log", Urgency.FOREGROUND);
    first.get(0).countDown();
    // Two of the background are on their way still, which the log does not wait for.
    eventually(() -> running.contains("log"));
    assertThat(running).containsExactlyInAnyOrder("b", "c", "d", "log");

    first.forEach(CountDownLatch::countDown);
    log.countDown();
    eventually(() -> running.equals(List.of("table")));
    table.countDown();
    eventually(running::isEmpty);
  }

  @Test
  void limitOfOne_letsTheBackgroundThroughWhenNothingElseRuns() {
    limit.throttled();
    assertThat(limit.current()).isEqualTo(1);
    assertThat(limit.call(Urgency.BACKGROUND, () -> "done")).isEqualTo("done");
    assertThat(limit.current()).isEqualTo(2);
    for (int i = 0; i < 100; i++) {
      int unused = limit.call(Urgency.FOREGROUND, () -> 1);
    }
    // One more after each round: about the root of twice as many.
    assertThat(limit.current()).isBetween(13.0, 16.0);
  }

  @Test
  void awaitCalm_lastsASecondAfterTheLastComplaint() {
    // Who waits at all fails when it is interrupted.
    Thread.currentThread().interrupt();
    limit.awaitCalm();
    assertThat(Thread.interrupted()).isTrue();
    limit.throttled();
    long complaint = System.nanoTime();
    limit.awaitCalm();
    assertThat(System.nanoTime() - complaint).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(990));
  }

  @Test
  void requestThatFails_givesItsPlaceBackAndDoesNotRaiseTheLimit() {
    limit.throttled();
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(
              () ->
                  limit.call(
                      Urgency.FOREGROUND,
                      () -> {
                        throw StateBackendException.internal("refused");
                      }))
          .isInstanceOf(StateBackendException.class);
    }
    assertThat(limit.current()).isEqualTo(1);
    assertThat(limit.call(Urgency.FOREGROUND, () -> "done")).isEqualTo("done");
  }

  @Test
  void waiterThatIsInterrupted_leavesNoPlaceTaken() throws Exception {
    CountDownLatch end = begin("a", Urgency.FOREGROUND);
    eventually(() -> running.size() == 1);
    limit.throttled();
    CompletableFuture<Throwable> failure = new CompletableFuture<>();
    Thread waiter =
        new Thread(
            () -> {
              try {
                String unused = limit.call(Urgency.FOREGROUND, () -> "done");
              } catch (StateBackendException e) {
                failure.complete(e);
              }
            });
    waiter.start();
    eventually(() -> waiter.getState() == Thread.State.WAITING);
    waiter.interrupt();
    assertThat(failure.get(20, TimeUnit.SECONDS)).hasMessageContaining("interrupted");
    end.countDown();
    eventually(running::isEmpty);
    assertThat(limit.call(Urgency.FOREGROUND, () -> "done")).isEqualTo("done");
  }
}
