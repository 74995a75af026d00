package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.testkit.ThreadExecution;
import io.alluvium.testkit.blob.FaultyBlobStore;
import io.alluvium.testkit.blob.MapBlobStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A changelog that is closed while the store has not answered every attempt; on real threads. */
final class ClosingTest {

  private final CountDownLatch answer = new CountDownLatch(1);
  private final CountDownLatch asked = new CountDownLatch(1);
  private final MapBlobStore map = new MapBlobStore();
  private final FaultyBlobStore store = new FaultyBlobStore(map, this::hold);
  private final ThreadExecution execution = new ThreadExecution();
  private final Log log =
      new Log(
          store,
          execution,
          Map.of(
              "dstl.dfs.upload.timeout",
              "10ms",
              "dstl.dfs.upload.next-attempt-delay",
              "1ms",
              // On a machine that stalls the second attempt is late too.
              "dstl.dfs.upload.max-attempts",
              "1000"));

  private void hold(Duration delay) {
    asked.countDown();
    await(answer);
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(1, TimeUnit.MINUTES)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @AfterEach
  void end() {
    answer.countDown();
    log.storage.close();
    execution.close();
  }

  @Test
  void close_attemptThatTimedOutIsUnderWay_waitsUntilNothingAppearsAnyMore()
      throws InterruptedException {
    store.rule("delay 1s put data/* #1");
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> stored = changelog.persist(0);
    // By the second attempt.
    assertThat(execution.await(stored)).hasSize(1);
    assertStoresNothingAfterClose(changelog);
  }

  @Test
  void close_firstAttemptIsUnderWay_waitsUntilNothingAppearsAnyMore() throws InterruptedException {
    store.rule("delay 1s put data/*");
    Changelog changelog = log.open(1);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> unused = changelog.persist(0);
    await(asked);
    assertStoresNothingAfterClose(changelog);
  }

  private void assertStoresNothingAfterClose(Changelog changelog) throws InterruptedException {
    Thread closing = new Thread(changelog::close);
    closing.start();
    closing.join(200);
    assertThat(closing.isAlive()).as("waits until the store has answered").isTrue();
    answer.countDown();
    closing.join(TimeUnit.MINUTES.toMillis(1));
    assertThat(closing.isAlive()).isFalse();
    log.checkNothingHeld();
  }
}
