package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.testkit.blob.BlobOp;
import io.alluvium.testkit.blob.FaultyBlobStore;
import io.alluvium.testkit.blob.MapBlobStore;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What happens when the store fails or is slow. */
final class UploadTest {

  private final StepExecution execution = new StepExecution();
  private final MapBlobStore map = new MapBlobStore();
  private final FaultyBlobStore store =
      new FaultyBlobStore(map, delay -> execution.await(after(delay)));
  private Log log = new Log(store, execution, Map.of());

  private CompletableFuture<Boolean> after(Duration delay) {
    CompletableFuture<Boolean> over = new CompletableFuture<>();
    Object unused = execution.schedule(delay, () -> over.complete(true));
    return over;
  }

  @AfterEach
  void nothingIsLeft() {
    log.storage.close();
    execution.pass(Duration.ofHours(1));
    log.checkNothingHeld();
  }

  private void reopen(String... settings) {
    Map<String, String> values = new HashMap<>();
    for (int i = 0; i < settings.length; i += 2) {
      values.put(settings[i], settings[i + 1]);
    }
    log.storage.close();
    log = new Log(store, execution, values);
  }

  private static StateBackendException failureOf(CompletableFuture<?> future) {
    assertThat(future).isCompletedExceptionally();
    return assertThatThrownBy(future::join)
        .isInstanceOf(CompletionException.class)
        .cause()
        .asInstanceOf(InstanceOfAssertFactories.type(StateBackendException.class))
        .actual();
  }

  @Test
  void put_failsOnce_isRepeatedUnderTheSameNameWithTheSameBytes() {
    store.rule("fail before put data/* #1");
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    execution.runTasks();
    assertThat(future).isNotDone();
    execution.pass(Duration.ofMillis(500));
    assertThat(future).isCompleted();
    List<String> trace = store.trace();
    assertThat(trace).hasSize(2);
    assertThat(trace.get(0)).isEqualTo(trace.get(1) + " -> fail before");
    assertThat(map.content()).hasSize(1);
  }

  /**
   * Each segment is refused many times; a person wants to know once, and of the next outage too.
   */
  @Test
  void put_refusedForLong_isToldOnceForEachOutage() {
    PrintStream before = System.err;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
    try {
      for (int outage = 1; outage <= 2; outage++) {
        store.rule("fail before put data/*");
        for (int id = 1; id <= 3; id++) {
          Changelog changelog = log.open(10L * outage + id);
          Log.fill(changelog, 10, 40);
          CompletableFuture<List<BlockRef>> unused = changelog.persist(0);
          execution.pass(Duration.ofSeconds(20));
        }
        assertThat(said.toString(StandardCharsets.UTF_8).lines())
            .hasSize(outage)
            .allMatch(line -> line.contains("cannot store 'data/") && line.contains("3 attempts"));
        store.clearRules();
        execution.pass(Duration.ofMinutes(5));
      }
    } finally {
      System.setErr(before);
    }
  }

  @Test
  void put_answerLost_isRepeatedHarmlessly() {
    // The map refuses other bytes under the same name.
    store.rule("fail after put data/* #1-2");
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    execution.pass(Duration.ofSeconds(5));
    assertThat(future.join()).hasSize(1);
    assertThat(store.count(BlobOp.PUT)).isEqualTo(3);
    assertThat(map.content()).hasSize(1);
  }

  @Test
  void put_failsTooOften_failsThePersistWithItsCauseAndKeepsTheChanges() {
    store.rule("fail before put data/*");
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> first = changelog.persist(0);
    execution.pass(Duration.ofSeconds(2));
    StateBackendException failure = failureOf(first);
    assertThat(failure.kind()).isEqualTo(Kind.UNAVAILABLE);
    assertThat(failure)
        .hasMessageContaining("data/")
        .hasMessageContaining("map:")
        .hasMessageContaining("after 3 attempts")
        .hasMessageContaining("injected")
        .hasRootCauseMessage("injected");
    assertThat(changelog.durableUpTo()).isZero();

    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> second = changelog.persist(0);
    store.clearRules();
    execution.pass(Duration.ofSeconds(10));
    assertThat(second.join()).hasSize(2);
    assertThat(changelog.durableUpTo()).isEqualTo(20);
    assertThat(log.metrics.count("changelog.upload.failures")).isGreaterThanOrEqualTo(3);
  }

  /** Who watches tells by the metric that waiting alone will not do. */
  @Test
  void put_refusedForAReasonThatStays_isCountedApart() {
    FaultyBlobStore denying =
        new FaultyBlobStore(
            map,
            delay -> {
              throw StateBackendException.invalid("access is denied");
            });
    denying.rule("delay 1ms put data/* #2-3");
    denying.rule("fail before put data/* #1");
    log.storage.close();
    log = new Log(denying, execution, Map.of());
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    execution.pass(Duration.ofMinutes(1));
    assertThat(failureOf(future)).hasMessageContaining("access is denied");
    assertThat(log.metrics.count("changelog.upload.failures")).isEqualTo(3);
    assertThat(log.metrics.count("changelog.upload.refusals")).isEqualTo(2);
    assertThat(changelog.durableUpTo()).isEqualTo(10);
  }

  @Test
  void put_failsForHours_isNeverGivenUpAndPausesAreBounded() {
    store.rule("fail before put data/*");
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    execution.pass(Duration.ofHours(1));
    failureOf(future);
    // At most 10 s apart, at least 5 s.
    assertThat(store.count(BlobOp.PUT)).isBetween(360, 730);
    store.clearRules();
    execution.pass(Duration.ofSeconds(10));
    assertThat(changelog.durableUpTo()).isEqualTo(10);
    assertThat(changelog.persist(0)).isCompleted();
  }

  @Test
  void persist_whileASegmentKeepsFailing_waitsForItsOwnShareOfAttempts() {
    store.rule("fail before put data/*");
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> first = changelog.persist(0);
    execution.pass(Duration.ofMinutes(1));
    failureOf(first);
    CompletableFuture<List<BlockRef>> second = changelog.persist(0);
    int before = store.count(BlobOp.PUT);
    while (store.count(BlobOp.PUT) < before + 2) {
      assertThat(second).isNotDone();
      execution.pass(Duration.ofSeconds(1));
    }
    execution.pass(Duration.ofSeconds(10));
    failureOf(second);
  }

  @Test
  void policyNone_firstFailureFailsThePersist() {
    reopen("dstl.dfs.upload.retry-policy", "none");
    store.rule("fail before put data/* #1");
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    execution.runTasks();
    failureOf(future);
    execution.pass(Duration.ofSeconds(1));
    assertThat(changelog.durableUpTo()).isEqualTo(10);
  }

  @Test
  void policyFixed_pausesAreEqual() {
    reopen("dstl.dfs.upload.retry-policy", "fixed", "dstl.dfs.upload.next-attempt-delay", "2s");
    store.rule("fail before put data/*");
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    execution.pass(Duration.ofSeconds(21));
    assertThat(store.count(BlobOp.PUT)).isEqualTo(11);
    failureOf(future);
  }

  @Test
  void put_doesNotAnswerInTime_isMadeAgainAndTheFirstAnswerCounts() {
    store.rule("delay 1m put data/* #1");
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    CompletableFuture<Long> storedAt = future.thenApply(blocks -> execution.nanoTime());
    execution.pass(Duration.ofMinutes(2));
    // One second, then a pause of at most half a second: long before the first attempt returned.
    assertThat(storedAt.join()).isLessThan(Duration.ofSeconds(2).toNanos());
    assertThat(store.count(BlobOp.PUT)).isEqualTo(2);
  }

  @Test
  void put_returnsLongAfterItsChangelogIsClosed_keepsItsBuffersUntilThen() {
    store.rule("delay 1m put data/* #1");
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    CompletableFuture<Integer> heldAfterClose =
        after(Duration.ofSeconds(30))
            .thenApply(
                over -> {
                  changelog.close();
                  return log.storage.uploader().pool().heldBuffers();
                });
    execution.pass(Duration.ofMinutes(2));
    assertThat(future).isCompleted();
    assertThat(heldAfterClose).isCompletedWithValue(1);
    log.checkNothingHeld();
  }

  @Test
  void put_neverAnswers_failsThePersistAndAtMostTwoAttemptsRun() {
    store.rule("delay 1h put data/*");
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    CompletableFuture<Long> failedAt =
        future.handle((blocks, failure) -> failure == null ? -1L : execution.nanoTime());
    Integer made = execution.await(after(Duration.ofMinutes(30)).thenApply(over -> puts()));
    assertThat(made).isEqualTo(2);
    assertThat(failedAt.join()).isBetween(1L, Duration.ofMinutes(1).toNanos());
    StateBackendException failure = failureOf(future);
    assertThat(failure.kind()).isEqualTo(Kind.UNAVAILABLE);
    assertThat(failure).hasMessageContaining("not answered in time");
    assertThat(changelog.persist(0)).as("the late answers count").isCompleted();
  }

  private int puts() {
    return store.count(BlobOp.PUT);
  }

  @Test
  void durableUpTo_stopsAtAHole() {
    Changelog changelog = log.open(1);
    store.rule("fail before put data/* #1");
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> first = changelog.persist(0);
    execution.runTasks();
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> second = changelog.persist(0);
    execution.runTasks();
    assertThat(map.content()).as("the second block is stored").hasSize(1);
    assertThat(changelog.durableUpTo()).isZero();
    assertThat(first).isNotDone();
    assertThat(second).isNotDone();
    CompletableFuture<List<BlockRef>> beyondTheHole = changelog.persist(10);
    assertThat(beyondTheHole).isCompleted();
    execution.pass(Duration.ofSeconds(1));
    assertThat(changelog.durableUpTo()).isEqualTo(20);
    assertThat(first.join()).hasSize(1);
    assertThat(second.join()).hasSize(2);
  }

  @Test
  void close_ofOne_keepsASegmentThatHoldsOthersBlocks() {
    Changelog one = log.open(1);
    Changelog two = log.open(2);
    store.rule("fail before put data/* #1-2");
    Log.fill(one, 10, 40);
    Log.fill(two, 10, 40);
    CompletableFuture<List<BlockRef>> ofOne = one.persist(0);
    CompletableFuture<List<BlockRef>> ofTwo = two.persist(0);
    execution.runTasks();
    one.close();
    assertThat(failureOf(ofOne).kind()).isEqualTo(Kind.CLOSED);
    execution.pass(Duration.ofSeconds(5));
    assertThat(ofTwo.join()).hasSize(1);
  }

  @Test
  void close_ofAllInASegment_givesItUp() {
    Changelog changelog = log.open(1);
    store.rule("fail before put data/*");
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    execution.runTasks();
    changelog.close();
    execution.pass(Duration.ofHours(1));
    assertThat(failureOf(future).kind()).isEqualTo(Kind.CLOSED);
    assertThat(store.count(BlobOp.PUT)).isEqualTo(1);
    log.checkNothingHeld();
  }

  @Test
  void close_beforeEncoding_dropsWhatIsQueued() {
    Changelog changelog = log.open(1);
    Log.fill(changelog, 20_000, 40);
    changelog.close();
    execution.pass(Duration.ofMinutes(1));
    assertThat(store.calls()).isZero();
    log.checkNothingHeld();
  }

  @Test
  void trim_unsentBlocks_areNotStoredAnyMore() {
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    changelog.seal();
    Log.fill(changelog, 10, 40);
    changelog.seal();
    changelog.trim(10);
    assertThat(changelog.durableUpTo()).isEqualTo(10);
    CompletableFuture<List<BlockRef>> future = changelog.persist(10);
    execution.runTasks();
    assertThat(future.join()).singleElement().extracting(BlockRef::fromSqn).isEqualTo(10L);
    assertThat(map.content().values())
        .singleElement()
        .satisfies(bytes -> assertThat(bytes).hasSizeLessThan(700));
    assertThatThrownBy(() -> changelog.persist(9)).hasMessageContaining("trimmed to 10");
  }

  @Test
  void trim_whileWaitedFor_failsTheWaiter() {
    Changelog changelog = log.open(1);
    store.rule("fail before put data/*");
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    execution.runTasks();
    changelog.trim(10);
    assertThat(failureOf(future).kind()).isEqualTo(Kind.INVALID);
    execution.pass(Duration.ofMinutes(1));
    assertThat(store.count(BlobOp.PUT)).isEqualTo(1);
  }

  @Test
  void liveBlobs_namesASegmentBeforeItsPutHasAnEffect() {
    Changelog changelog = log.open(1);
    store.rule("fail before put data/* #1");
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    assertThat(changelog.liveBlobs()).isEmpty();
    execution.runTasks();
    assertThat(map.content()).isEmpty();
    assertThat(changelog.liveBlobs())
        .containsExactly(new BlobName(Log.INCARNATION, 0, BlobName.Kind.LOG));
    changelog.trim(10);
    assertThat(changelog.liveBlobs()).as("it may still be written").hasSize(1);
    execution.pass(Duration.ofSeconds(1));
    assertThat(changelog.liveBlobs()).isEmpty();
    assertThat(future).isCompletedExceptionally();
  }
}
