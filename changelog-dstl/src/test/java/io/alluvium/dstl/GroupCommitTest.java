package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.testkit.blob.BlobOp;
import io.alluvium.testkit.blob.FaultyBlobStore;
import io.alluvium.testkit.blob.MapBlobStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which blocks go out together, and when. */
final class GroupCommitTest {

  private final StepExecution execution = new StepExecution();
  private final FaultyBlobStore store = new FaultyBlobStore(new MapBlobStore());
  private Log log = new Log(store, execution, Map.of());

  @AfterEach
  void nothingIsLeft() {
    log.storage.close();
    execution.runTasks();
    log.checkNothingHeld();
  }

  private void reopen(String... settings) {
    Map<String, String> map = new HashMap<>();
    for (int i = 0; i < settings.length; i += 2) {
      map.put(settings[i], settings[i + 1]);
    }
    log.storage.close();
    log = new Log(store, execution, map);
  }

  private List<Changelog> open(int count) {
    List<Changelog> logs = new ArrayList<>();
    for (int id = 0; id < count; id++) {
      logs.add(log.open(id));
    }
    return logs;
  }

  private int puts() {
    return store.count(BlobOp.PUT);
  }

  @Test
  void persist_sixteenChangelogs_onePut() {
    List<Changelog> logs = open(16);
    for (int checkpoint = 0; checkpoint < 3; checkpoint++) {
      List<CompletableFuture<List<BlockRef>>> futures = new ArrayList<>();
      for (Changelog changelog : logs) {
        Log.fill(changelog, 100, 40);
        futures.add(changelog.persist(100L * checkpoint));
        execution.runTasks();
      }
      assertThat(puts()).isEqualTo(checkpoint + 1);
      for (CompletableFuture<List<BlockRef>> future : futures) {
        assertThat(future).isCompleted();
        assertThat(future.join()).hasSize(1);
      }
    }
    assertThat(store.calls()).isEqualTo(3);
    assertThat(log.metrics.count("changelog.upload.segments")).isEqualTo(3);
  }

  @Test
  void persist_lastToAskWhileOthersEncode_waitsForTheirBlocks() {
    List<Changelog> logs = open(4);
    List<CompletableFuture<List<BlockRef>>> futures = new ArrayList<>();
    for (Changelog changelog : logs) {
      Log.fill(changelog, 7_000, 40);
      futures.add(changelog.persist(0));
    }
    assertThat(puts()).isZero();
    execution.runTasks();
    assertThat(puts()).isEqualTo(1);
    assertThat(futures).allSatisfy(future -> assertThat(future.join()).hasSize(2));
  }

  @Test
  void persist_someHaveNoChanges_countAsAskedAndWriteNothing() {
    List<Changelog> logs = open(4);
    Log.fill(logs.get(1), 1, 40);
    CompletableFuture<List<BlockRef>> written = logs.get(1).persist(0);
    for (int id : new int[] {0, 2}) {
      assertThat(logs.get(id).persist(0)).isCompletedWithValue(List.of());
    }
    execution.runTasks();
    assertThat(puts()).isZero();
    assertThat(logs.get(3).persist(0)).isCompletedWithValue(List.of());
    execution.runTasks();
    assertThat(written).isCompleted();
    assertThat(puts()).isEqualTo(1);
  }

  @Test
  void persist_nobodyHasChanges_makesNoRequestAndStartsNoTimer() {
    List<Changelog> logs = open(3);
    for (int i = 0; i < 2; i++) {
      logs.forEach(changelog -> assertThat(changelog.persist(0)).isCompleted());
    }
    execution.pass(Duration.ofMinutes(1));
    assertThat(store.calls()).isZero();
    assertThat(execution.timers()).isZero();
  }

  @Test
  void persist_nothingNewSinceTheLast_givesTheSameBlocksWithoutPut() {
    List<Changelog> logs = open(2);
    Log.fill(logs.get(0), 10, 40);
    CompletableFuture<List<BlockRef>> first = logs.get(0).persist(0);
    CompletableFuture<List<BlockRef>> other = logs.get(1).persist(0);
    execution.runTasks();
    assertThat(other).isCompletedWithValue(List.of());
    assertThat(logs.get(0).persist(0)).isCompletedWithValue(first.join());
    assertThat(logs.get(0).persist(10)).isCompletedWithValue(List.of());
    execution.pass(Duration.ofMinutes(1));
    assertThat(puts()).isEqualTo(1);
  }

  @Test
  void persist_othersDoNotAsk_goesOutAfterTheDelay() {
    List<Changelog> logs = open(2);
    Log.fill(logs.get(0), 10, 40);
    CompletableFuture<List<BlockRef>> future = logs.get(0).persist(0);
    execution.pass(Duration.ofMillis(9));
    assertThat(puts()).isZero();
    execution.pass(Duration.ofMillis(1));
    assertThat(puts()).isEqualTo(1);
    assertThat(future).isCompleted();
  }

  @Test
  void persist_delayOverWhileAnotherWaits_bothGoOut() {
    List<Changelog> logs = open(3);
    Log.fill(logs.get(0), 10, 40);
    Log.fill(logs.get(1), 10, 40);
    CompletableFuture<List<BlockRef>> first = logs.get(0).persist(0);
    execution.pass(Duration.ofMillis(8));
    CompletableFuture<List<BlockRef>> second = logs.get(1).persist(0);
    execution.pass(Duration.ofMillis(2));
    assertThat(first).isCompleted();
    assertThat(second).isCompleted();
    assertThat(puts()).isEqualTo(1);
  }

  @Test
  void persist_sizeThresholdReached_doesNotWaitForOthers() {
    reopen("dstl.dfs.batch.persist-size-threshold", "4 kb");
    List<Changelog> logs = open(2);
    Log.fill(logs.get(0), 200, 40);
    CompletableFuture<List<BlockRef>> future = logs.get(0).persist(0);
    execution.runTasks();
    assertThat(future).isCompleted();
  }

  @Test
  void persist_tailLongerThanASegment_becomesSeveral() {
    reopen(
        "dstl.dfs.batch.persist-size-threshold", "300 kb",
        "dstl.dfs.preemptive-persist-threshold", "100 mb");
    Changelog changelog = open(1).get(0);
    Log.fill(changelog, 4 * 6_553, 40);
    CompletableFuture<List<BlockRef>> future = changelog.persist(0);
    execution.runTasks();
    assertThat(future.join()).hasSize(4);
    assertThat(puts()).isEqualTo(4);
  }

  @Test
  void seal_untilThePreemptiveThreshold_goesOutUnasked() {
    reopen("dstl.dfs.preemptive-persist-threshold", "1 mb");
    Changelog changelog = open(2).get(0);
    Log.fill(changelog, 3 * 6_553 + 1, 40);
    execution.pass(Duration.ofMinutes(1));
    assertThat(puts()).isZero();
    Log.fill(changelog, 2 * 6_553, 40);
    execution.runTasks();
    assertThat(puts()).isEqualTo(1);
    assertThat(changelog.durableUpTo()).isEqualTo(5 * 6_553);
    assertThat(changelog.nextSqn()).isEqualTo(5 * 6_553 + 1);
  }

  @Test
  void close_lastThatHasNotAsked_letsTheOthersGo() {
    List<Changelog> logs = open(3);
    Log.fill(logs.get(0), 10, 40);
    Log.fill(logs.get(2), 10, 40);
    CompletableFuture<List<BlockRef>> future = logs.get(0).persist(0);
    assertThat(logs.get(1).persist(0)).isCompleted();
    execution.runTasks();
    assertThat(puts()).isZero();
    logs.get(2).close();
    execution.runTasks();
    assertThat(future).isCompleted();
    assertThat(puts()).isEqualTo(1);
  }

  @Test
  void persist_blocksSealedAfterTheRoundEnded_doNotDelayIt() {
    List<Changelog> logs = open(2);
    Log.fill(logs.get(0), 10, 40);
    CompletableFuture<List<BlockRef>> future = logs.get(0).persist(0);
    assertThat(logs.get(1).persist(0)).isCompleted();
    Log.fill(logs.get(1), 10, 40);
    logs.get(1).seal();
    execution.runTasks();
    assertThat(future).isCompleted();
    assertThat(logs.get(1).durableUpTo()).isZero();
    assertThat(puts()).isEqualTo(1);
  }
}
