package io.alluvium.dstl;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Operation;
import io.alluvium.testkit.blob.BlobOp;
import io.alluvium.testkit.blob.FaultyBlobStore;
import io.alluvium.testkit.blob.MapBlobStore;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The task waits at the bound of the bytes in flight, and only there. */
final class BackpressureTest {

  private static final int PER_BLOCK = 6_553;
  private static final String MICROS = "changelog.backpressure.micros";

  private final StepExecution execution = new StepExecution();
  private final FaultyBlobStore store = new FaultyBlobStore(new MapBlobStore());
  private final Log log =
      new Log(
          store,
          execution,
          Map.of(
              "dstl.dfs.upload.max-in-flight", "1 mb",
              "dstl.dfs.preemptive-persist-threshold", "100 mb"));

  @Test
  void append_belowTheBound_neverWaits() {
    Changelog changelog = log.open(1);
    Log.fill(changelog, 3 * PER_BLOCK, 40);
    assertThat(log.metrics.recorded(MICROS)).isEmpty();
    assertThat(log.metrics.gauge("changelog.inflight.bytes"))
        .isEqualTo(2L * BufferPool.ARRAY_BYTES);
  }

  @Test
  void awaitRoom_atTheBound_waitsUntilSomethingIsStored() {
    Changelog changelog = log.open(1);
    store.rule("fail before put data/* #1");
    // Nobody has asked and the pre-emptive threshold is far: the wait itself sends everything off.
    Log.fill(changelog, 5 * PER_BLOCK, 40);
    assertThat(log.metrics.recorded(MICROS))
        .singleElement()
        .satisfies(micros -> assertThat(micros).isBetween(250_000L, 500_000L));
    assertThat(store.count(BlobOp.PUT)).isEqualTo(2);
    assertThat(changelog.durableUpTo()).isEqualTo(4 * PER_BLOCK);
  }

  @Test
  void append_storeAwayForALongTime_holdsABoundedAmountOfMemory() {
    Changelog changelog = log.open(1);
    store.rule("fail before put data/* #1-40");
    long most = 0;
    for (int i = 0; i < 30; i++) {
      Log.fill(changelog, PER_BLOCK, 40);
      most = Math.max(most, log.storage.uploader().pool().heldBytes());
    }
    assertThat(most).isLessThanOrEqualTo((1L << 20) + 2 * BufferPool.ARRAY_BYTES);
    assertThat(log.metrics.recorded(MICROS)).isNotEmpty();
    execution.await(changelog.persist(0));
    assertThat(changelog.durableUpTo()).isEqualTo(30 * PER_BLOCK);
  }

  @Test
  void append_storeRefusesForMinutes_warnsAfterSecondsAndThenSeldom() {
    Changelog changelog = log.open(1);
    store.rule("fail before put data/*");
    Object unused = execution.schedule(Duration.ofMinutes(3), store::clearRules);
    PrintStream before = System.err;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    System.setErr(new PrintStream(said, true, UTF_8));
    try {
      Log.fill(changelog, 5 * PER_BLOCK, 40);
    } finally {
      System.setErr(before);
    }
    List<String> warnings =
        said.toString(UTF_8).lines().filter(line -> line.contains("StallWarnings")).toList();
    // At 5, 10, 20, 40, 80 and 160 s, each with the next failed attempt.
    assertThat(warnings).hasSize(6).allMatch(line -> line.contains(" WARN "));
    assertThat(warnings.get(0))
        .containsPattern("A task has waited for [5-9] s, because \\d+ bytes of changes")
        .contains("1048576 may be", "dstl.dfs.upload.max-in-flight")
        .contains("cannot store 'data/", "in 'map:'", "its changes are kept");
    assertThat(changelog.durableUpTo()).isPositive();
  }

  /** Memory stays bounded, and nothing is logged that the caller would repeat. */
  @Test
  void awaitRoom_interrupted_throwsUntilThereIsRoom() {
    Changelog changelog = log.open(1);
    store.rule("fail before put data/* #1-3");
    // The last one fills the block that reaches the bound.
    Log.fill(changelog, 4 * PER_BLOCK + 1, 40);
    Thread.currentThread().interrupt();
    try {
      for (int i = 0; i < 3; i++) {
        assertThatThrownBy(() -> Log.fill(changelog, 1, 40))
            .isInstanceOfSatisfying(
                StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNAVAILABLE))
            .hasMessageContaining("a change was not applied")
            .hasMessageContaining("max-in-flight");
        assertThat(Thread.currentThread().isInterrupted()).as("interrupted").isTrue();
        assertThat(changelog.nextSqn()).isEqualTo(4 * PER_BLOCK + 1);
      }
    } finally {
      Thread.interrupted();
    }
    Log.fill(changelog, 1, 40);
    execution.await(changelog.persist(0));
    assertThat(changelog.durableUpTo()).isEqualTo(4 * PER_BLOCK + 2);
  }

  @Test
  void persist_atTheBound_neverWaits() {
    Changelog changelog = log.open(1);
    Log.fill(changelog, 4 * PER_BLOCK, 40);
    changelog.seal();
    long before = execution.nanoTime();
    assertThat(changelog.persist(0)).isNotDone();
    assertThat(execution.nanoTime()).isEqualTo(before);
    execution.runTasks();
    assertThat(changelog.durableUpTo()).isEqualTo(4 * PER_BLOCK);
  }

  @Test
  void append_changeLargerThanTheBound_isStored() {
    Changelog changelog = log.open(1);
    byte[] key = {0, 1, 7, 0, 0};
    byte[] value = new byte[3 << 20];
    changelog.append(Operation.PUT, key, key.length, value, value.length);
    Log.fill(changelog, 1, 40);
    assertThat(execution.await(changelog.persist(0))).hasSize(2);
    log.checkNothingHeldExceptActive(1);
  }

  @Test
  void append_keyGroupOrLengthsImpossible_isRefusedAndLogsNothing() {
    Changelog changelog = log.open(1);
    byte[] key = {0, 8, 7, 0, 0};
    for (int keyLength : new int[] {5, 1, 0, -1}) {
      assertThatThrownBy(() -> changelog.append(Operation.PUT, key, keyLength, new byte[1], 1))
          .isInstanceOfSatisfying(
              StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID));
    }
    byte[] huge = new byte[2];
    assertThatThrownBy(() -> changelog.append(Operation.PUT, huge, 2, huge, Integer.MAX_VALUE))
        .hasMessageContaining("must not exceed");
    assertThat(changelog.nextSqn()).isZero();
    assertThat(changelog.persist(0)).isCompletedWithValue(List.of());
  }

  @Test
  void close_whileTheTaskWaits_letsItGo() {
    Changelog changelog = log.open(1);
    store.rule("fail before put data/*");
    Object unused = execution.schedule(Duration.ofMinutes(1), changelog::close);
    assertThatThrownBy(() -> Log.fill(changelog, 10 * PER_BLOCK, 40))
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.CLOSED))
        .hasMessageContaining("the keyed backend of key groups ");
    execution.pass(Duration.ofMinutes(1));
    log.checkNothingHeld();
  }
}
