package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.flink.CheckpointFiles.Purpose;
import io.alluvium.flink.Shelf.Fate;
import io.alluvium.spi.Execution;
import io.alluvium.spi.RetryPolicy;
import io.alluvium.testkit.Seeds;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.util.function.SupplierWithException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A file of a checkpoint is attempted as often as the policy says, and one attempt counts. */
final class CheckpointFilesTest {

  private static final byte[] CONTENT = new byte[100];
  private static final List<Fate> FATES = List.of(Fate.values());
  private static final Duration SOON = Duration.ofMillis(20);
  private static final Duration NEVER = Duration.ofHours(1);

  private final Execution execution = Execution.threads(2, 1, 1);
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final CloseableRegistry registry = new CloseableRegistry();
  private final CountedMetrics metrics = new CountedMetrics();

  @AfterEach
  void stop() {
    threads.shutdownNow();
    execution.close();
  }

  private CheckpointFiles files(RetryPolicy.Kind kind, int maxAttempts, Duration timeout) {
    return files(new RetryPolicy(kind, maxAttempts, Duration.ofMillis(2), timeout));
  }

  private CheckpointFiles files(RetryPolicy policy) {
    return new CheckpointFiles(
        execution, threads, policy, new Random(1), new StoreMetrics(metrics));
  }

  private CompletableFuture<StreamStateHandle> store(
      CheckpointFiles files, Purpose purpose, Shelf shelf) {
    return attempts(files, purpose, shelf).stored();
  }

  private FileAttempts attempts(CheckpointFiles files, Purpose purpose, Shelf shelf) {
    return files.store(
        new CheckpointFiles.File(
            "file", purpose, CONTENT.length, shelf::open, out -> out.write(CONTENT)),
        registry);
  }

  @Test
  void attempts_untilOneSucceeds() throws Exception {
    Shelf shelf = new Shelf(List.of(Fate.OPEN_FAILS, Fate.CLOSE_FAILS, Fate.FINE));
    StreamStateHandle handle =
        store(files(RetryPolicy.Kind.ADAPTIVE, 3, NEVER), Purpose.LOG, shelf)
            .get(1, TimeUnit.MINUTES);
    assertThat(handle.getStateSize()).isEqualTo(CONTENT.length);
    assertThat(shelf.files()).containsExactly(3);
    assertThat(metrics.get("store.failed.count")).isEqualTo(2);
    assertThat(metrics.get("store.retry.count")).isEqualTo(2);
    assertThat(metrics.get("store.hedge.count")).isZero();
    assertThat(metrics.get("store.log.put.count")).isEqualTo(1);
    assertThat(metrics.get("store.log.put.bytes")).isEqualTo(CONTENT.length);
    assertThat(registry.getNumberOfRegisteredCloseables()).isZero();
  }

  @Test
  void attempts_allInVain_leaveNothingBehind() {
    Shelf shelf = new Shelf(List.of(Fate.WRITE_FAILS, Fate.OPEN_FAILS, Fate.CLOSE_FAILS));
    CompletableFuture<StreamStateHandle> stored =
        store(files(RetryPolicy.Kind.FIXED, 3, NEVER), Purpose.MATERIALIZATION, shelf);
    assertThatThrownBy(() -> stored.get(1, TimeUnit.MINUTES))
        .hasStackTraceContaining("cannot store 'file' after 3 attempts")
        .hasStackTraceContaining("cannot write 1")
        .hasStackTraceContaining("cannot open 2")
        .hasStackTraceContaining("cannot close 3");
    assertThat(shelf.files()).isEmpty();
    assertThat(shelf.opened()).isEqualTo(3);
    assertThat(metrics.get("store.materialization.put.count")).isZero();
  }

  @Test
  void policyNone_attemptsOnce() {
    Shelf shelf = new Shelf(List.of(Fate.WRITE_FAILS));
    CompletableFuture<StreamStateHandle> stored =
        store(files(RetryPolicy.Kind.NONE, 3, SOON), Purpose.LOG, shelf);
    assertThatThrownBy(() -> stored.get(1, TimeUnit.MINUTES))
        .isInstanceOf(ExecutionException.class);
    assertThat(shelf.opened()).isEqualTo(1);
  }

  /** Neither waits for it, nor leaves it to whoever closes the registry. */
  @Test
  void giveUp_whileAStreamIsStuck_doesNotWaitForIt() throws Exception {
    Shelf shelf = new Shelf(List.of(Shelf.Fate.STUCK));
    FileAttempts attempts =
        attempts(files(RetryPolicy.Kind.NONE, 1, NEVER), Purpose.MATERIALIZATION, shelf);
    Eventually.that(() -> shelf.opened() == 1);
    attempts.giveUp();
    assertThat(attempts.stored()).isCompletedExceptionally();
    registry.close();
    shelf.release();
    Eventually.that(() -> shelf.files().isEmpty());
  }

  @Test
  void corruptContent_isNotAttemptedAgain() {
    Shelf shelf = new Shelf(List.of());
    CompletableFuture<StreamStateHandle> stored =
        files(RetryPolicy.Kind.FIXED, 3, NEVER)
            .store(
                new CheckpointFiles.File(
                    "file",
                    Purpose.LOG,
                    1,
                    shelf::open,
                    out -> {
                      throw StateBackendException.corrupt("nowhere");
                    }),
                registry)
            .stored();
    assertThatThrownBy(() -> stored.get(1, TimeUnit.MINUTES)).hasStackTraceContaining("nowhere");
    assertThat(shelf.opened()).isEqualTo(1);
    assertThat(shelf.files()).isEmpty();
  }

  @Test
  void slowAttempt_hasASecondBesideIt_andItsFileGoesWhenItEnds() throws Exception {
    Shelf shelf = new Shelf(List.of(Fate.STUCK, Fate.FINE));
    // Long enough for the first attempt to open its stream before the second one does.
    Duration slow = Duration.ofMillis(500);
    StreamStateHandle unused =
        store(files(RetryPolicy.Kind.ADAPTIVE, 3, slow), Purpose.LOG, shelf)
            .get(1, TimeUnit.MINUTES);
    assertThat(metrics.get("store.hedge.count")).isEqualTo(1);
    assertThat(metrics.get("store.hedge.decisive.count")).isEqualTo(1);
    assertThat(metrics.get("store.retry.count")).isZero();
    assertThat(shelf.files()).containsExactlyInAnyOrder(1, 2);
    shelf.release();
    Eventually.that(() -> shelf.files().equals(Set.of(2)));
  }

  @Test
  void slowAttempt_isClosed_whenTheSecondCameFirst() throws Exception {
    Shelf shelf = new Shelf(List.of(Fate.HANGS, Fate.FINE));
    StreamStateHandle unused =
        store(files(RetryPolicy.Kind.FIXED, 3, SOON), Purpose.MANIFEST, shelf)
            .get(1, TimeUnit.MINUTES);
    Eventually.that(() -> shelf.files().equals(Set.of(2)));
    assertThat(metrics.get("store.failed.count")).isZero();
  }

  @Test
  void tableFile_isLeftAlone_whenItIsSlow() throws Exception {
    Shelf shelf = new Shelf(List.of(Fate.STUCK));
    CompletableFuture<StreamStateHandle> stored =
        store(files(RetryPolicy.Kind.FIXED, 3, SOON), Purpose.MATERIALIZATION, shelf);
    Eventually.that(() -> shelf.opened() == 1);
    assertThatThrownBy(() -> stored.get(10 * SOON.toMillis(), TimeUnit.MILLISECONDS))
        .isInstanceOf(TimeoutException.class);
    assertThat(shelf.opened()).isEqualTo(1);
    shelf.release();
    StreamStateHandle unused = stored.get(1, TimeUnit.MINUTES);
    assertThat(shelf.files()).containsExactly(1);
  }

  @Test
  void cancelledCheckpoint_endsWhatHangs() throws Exception {
    Shelf shelf = new Shelf(List.of(Fate.HANGS, Fate.HANGS, Fate.FINE));
    // The registry closes the streams first. A short pause could end, and a third attempt fail as
    // well, before the attempts hear that they are cancelled.
    Duration pause = Duration.ofMinutes(1);
    CompletableFuture<StreamStateHandle> stored =
        store(files(new RetryPolicy(RetryPolicy.Kind.FIXED, 3, pause, SOON)), Purpose.LOG, shelf);
    Eventually.that(() -> shelf.opened() == 2);
    registry.close();
    assertThatThrownBy(() -> stored.get(1, TimeUnit.MINUTES)).hasStackTraceContaining("cancelled");
    Eventually.that(() -> shelf.files().isEmpty());
    assertThat(shelf.opened()).isEqualTo(2);
  }

  /** On the test's thread, by a clock that it turns. */
  private CompletableFuture<StreamStateHandle> storeBy(
      ManualTask clock,
      Purpose purpose,
      SupplierWithException<CheckpointStateOutputStream, IOException> open) {
    RetryPolicy policy = new RetryPolicy(RetryPolicy.Kind.FIXED, 3, SOON, SOON);
    return new CheckpointFiles(
            clock, Runnable::run, policy, new Random(1), new StoreMetrics(metrics))
        .store(
            new CheckpointFiles.File(
                "file", purpose, CONTENT.length, open, out -> out.write(CONTENT)),
            registry)
        .stored();
  }

  @Test
  void pauseWithoutATimer_failsTheFile() {
    ManualTask clock = new ManualTask();
    clock.refuse(true);
    Shelf shelf = new Shelf(List.of(Fate.OPEN_FAILS));
    CompletableFuture<StreamStateHandle> stored =
        storeBy(clock, Purpose.MATERIALIZATION, shelf::open);
    assertThat(stored).isCompletedExceptionally();
    assertThatThrownBy(stored::join)
        .hasStackTraceContaining("cannot store 'file' after 1 attempt")
        .hasStackTraceContaining("no thread could be had");
    assertThat(registry.getNumberOfRegisteredCloseables()).isZero();
  }

  @Test
  void pauseWithoutATimer_leavesTheFileToTheAttemptThatRuns() {
    ManualTask clock = new ManualTask();
    Shelf shelf = new Shelf(List.of(Fate.OPEN_FAILS, Fate.FINE));
    AtomicBoolean opened = new AtomicBoolean();
    // The first is slow to open; the second, beside it, fails when there are no more threads.
    CompletableFuture<StreamStateHandle> stored =
        storeBy(
            clock,
            Purpose.LOG,
            () -> {
              if (opened.compareAndSet(false, true)) {
                pass(clock, SOON);
                assertThat(shelf.opened()).isEqualTo(1);
              } else {
                clock.refuse(true);
              }
              return shelf.open();
            });
    assertThat(stored).isCompleted();
    assertThat(shelf.files()).containsExactly(2);
  }

  @Test
  void attemptWithoutATimer_hasNoneBesideItAndStores() {
    ManualTask clock = new ManualTask();
    clock.refuse(true);
    Shelf shelf = new Shelf(List.of(Fate.FINE));
    assertThat(storeBy(clock, Purpose.LOG, shelf::open)).isCompleted();
    assertThat(metrics.get("store.failed.count")).isZero();
  }

  private static void pass(ManualTask clock, Duration time) {
    try {
      clock.pass(time);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  static Stream<Long> seeds() {
    return Seeds.of(40);
  }

  /** Whatever becomes of the attempts: one file if it was stored, none if it was not. */
  @ParameterizedTest
  @MethodSource("seeds")
  void anyFates_leaveTheStoredFileAndNoOther(long seed) throws Exception {
    Random random = new Random(seed);
    int allowed = 1 + random.nextInt(4);
    List<Fate> fates = new ArrayList<>();
    for (int i = 0; i < allowed; i++) {
      fates.add(FATES.get(random.nextInt(FATES.size())));
    }
    Shelf shelf = new Shelf(fates);
    CompletableFuture<StreamStateHandle> stored =
        store(files(RetryPolicy.Kind.FIXED, allowed, Duration.ofMillis(5)), Purpose.LOG, shelf);
    boolean hangs = fates.contains(Fate.HANGS) || fates.contains(Fate.STUCK);
    if (hangs) {
      // Long enough for most of what can be decided; what cannot must end with the checkpoint.
      Thread.sleep(30);
      registry.close();
    }
    int left = 1;
    try {
      StreamStateHandle unused = stored.get(1, TimeUnit.MINUTES);
    } catch (ExecutionException e) {
      assertThat(hangs || !fates.contains(Fate.FINE)).as("%s", fates).isTrue();
      left = 0;
    }
    shelf.release();
    int files = left;
    Eventually.that(() -> shelf.files().size() == files);
    threads.shutdown();
    assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
    assertThat(shelf.files()).as("%s", fates).hasSize(left);
    assertThat(shelf.opened()).isLessThanOrEqualTo(allowed);
  }
}
