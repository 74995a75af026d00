package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.testkit.blob.FaultyBlobStore;
import io.alluvium.testkit.blob.MapBlobStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * A thread or a timer that cannot be had, and an error in what the background begins, at each place
 * in turn: nobody waits for ever, nothing stays held, and later checkpoints succeed.
 */
final class RefusedHandOffsTest {

  private static final int PER_BLOCK = 6_553;
  private static final int CHECKPOINTS = 6;
  private static final Duration LONG = Duration.ofMinutes(30);

  private static Throwable noThread() {
    return new OutOfMemoryError("unable to create native thread");
  }

  private static Throwable rejected() {
    return new RejectedExecutionException("no room");
  }

  /** One run of the scenario, on threads of its own. */
  private static final class Run {
    private final StepExecution execution = new StepExecution();
    private final FaultyBlobStore store =
        new FaultyBlobStore(
            new MapBlobStore(),
            delay -> {
              CompletableFuture<Boolean> over = new CompletableFuture<>();
              Object unused = execution().schedule(delay, () -> over.complete(true));
              Boolean unusedResult = execution().await(over);
            });
    private final Log log =
        new Log(
            store,
            execution,
            Map.of(
                "dstl.dfs.upload.max-in-flight", "1 mb",
                "dstl.dfs.preemptive-persist-threshold", "700 kb"));
    private final List<CompletableFuture<List<BlockRef>>> checkpoints = new ArrayList<>();
    private final Changelog one = log.open(1);
    private final Changelog two = log.open(2);
    private final Changelog closedEarly = log.open(3);

    private StepExecution execution() {
      return execution;
    }

    /** Attempts that fail, one that hangs, a wait for room, a changelog that goes, a trim. */
    private void play(IntFunction<@Nullable Throwable> refusal) {
      execution.refuse(refusal);
      store.rule("fail before put data/* #2");
      store.rule("fail after put data/* #4");
      store.rule("delay 40s put data/* #5");
      for (int i = 1; i <= CHECKPOINTS; i++) {
        Log.fill(one, 100, 40);
        Log.fill(two, 10, 40);
        checkpoints.add(one.persist(0));
        if (i == 3) {
          Log.fill(closedEarly, 10, 40);
          checkpoints.add(closedEarly.persist(0));
        }
        if (i == 4) {
          closedEarly.close();
          Log.fill(one, 5 * PER_BLOCK, 40);
        }
        checkpoints.add(two.persist(10L * (i - 1)));
        execution.pass(Duration.ofMillis(300));
        two.trim(10L * (i - 1));
      }
      execution.pass(LONG);
    }

    /** As long as the fault lasts: who waits has been told. */
    private void checkNobodyWaits() {
      assertThat(checkpoints).allMatch(CompletableFuture::isDone);
    }

    private void checkAllIsWell() {
      execution.refuse(point -> null);
      store.clearRules();
      checkNobodyWaits();
      for (Changelog log : List.of(one, two)) {
        Log.fill(log, 10, 40);
        long from = log == one ? 0 : 10L * (CHECKPOINTS - 1);
        CompletableFuture<List<BlockRef>> last = log.persist(from);
        execution.pass(LONG);
        assertThat(last).as("a later checkpoint").isCompleted();
        assertThat(this.log.read(last.join(), Log.KEY_GROUPS))
            .hasSize((int) (log.nextSqn() - from));
      }
      assertThat(log.storage.uploader().inFlightBytes()).as("bytes in flight").isZero();
      log.storage.close();
      execution.pass(LONG);
      log.checkNothingHeld();
      assertThat(execution.uncaught()).isEmpty();
    }
  }

  private static int points() {
    Run run = new Run();
    run.play(point -> null);
    int points = run.execution.points();
    assertThat(run.checkpoints).allMatch(future -> future.isDone());
    run.checkAllIsWell();
    assertThat(points).as("hand-offs of the scenario").isGreaterThan(40);
    return points;
  }

  private static void each(Supplier<Throwable> thrown, int inARow) {
    int points = points();
    for (int n = 1; n <= points; n++) {
      int from = n;
      Run run = new Run();
      try {
        run.play(point -> point >= from && point < from + inARow ? thrown.get() : null);
        run.checkAllIsWell();
      } catch (RuntimeException | Error e) {
        fail("hand-off " + n + " of " + points + " refused, " + inARow + " in a row", e);
      }
    }
  }

  @Test
  void each_threadCannotBeStarted_isTriedAgain() {
    each(RefusedHandOffsTest::noThread, 1);
  }

  @Test
  void each_threadCannotBeStartedSeveralTimes_isTriedAgain() {
    each(RefusedHandOffsTest::noThread, 7);
  }

  @Test
  void each_rejected_isTriedAgain() {
    each(RefusedHandOffsTest::rejected, 2);
  }

  /** Neither a thread nor a timer any more: a task must not wait for what nobody can do. */
  @Test
  void allFromOneOn_failsWhoWaitsUntilThreadsAreBack() {
    int points = points();
    for (int n = 1; n <= points; n += 3) {
      int from = n;
      Run run = new Run();
      try {
        run.play(point -> point >= from ? noThread() : null);
        run.checkAllIsWell();
      } catch (RuntimeException | Error e) {
        fail("all hand-offs from " + n + " of " + points + " on refused", e);
      }
    }
  }
}
