package io.alluvium.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.internal.materialize.Bases;
import io.alluvium.internal.materialize.Bases.Base;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Incarnation;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class PendingCheckpointsTest {

  private static final CompletableFuture<Base> EMPTY_BASE =
      CompletableFuture.completedFuture(new Base(0, List.of()));
  private final AtomicLong trimmedTo = new AtomicLong();
  private final PendingCheckpoints pending =
      new PendingCheckpoints(
          new Bases("test-1", new KeyGroupRange(0, 8), Optional.of(new Base(20, List.of()))),
          trimmedTo::set);

  /** A triggered checkpoint needs its changes although it is not durable yet (T7). */
  @Test
  void trim_sparesWhatATriggeredCheckpointNeeds() {
    pending.trigger(1, 5, EMPTY_BASE);
    pending.trigger(2, 9, EMPTY_BASE);

    pending.trim();

    assertThat(trimmedTo).hasValue(5);
  }

  @Test
  void trim_withNothingPending_goesUpToTheNewestBase() {
    pending.trim();

    assertThat(trimmedTo).hasValue(20);
  }

  @Test
  void confirm_settlesEveryOlderOne() {
    pending.trigger(1, 5, EMPTY_BASE);
    pending.trigger(2, 9, EMPTY_BASE);
    pending.trigger(3, 12, EMPTY_BASE);

    pending.confirm(2);

    assertThat(trimmedTo).hasValue(12);
  }

  @Test
  void abort_settlesOnlyThatOne() {
    pending.trigger(1, 5, EMPTY_BASE);
    pending.trigger(2, 9, EMPTY_BASE);

    pending.abort(2);

    assertThat(trimmedTo).hasValue(5);
  }

  @Test
  void liveBlobs_holdsADurableHandleUntilItsVerdict() {
    pending.trigger(1, 5, EMPTY_BASE);
    CheckpointHandle handle = handle(1);
    pending.durable(handle);
    assertThat(pending.liveBlobs()).isEqualTo(handle.blobs()).isNotEmpty();

    pending.confirm(1);

    assertThat(pending.liveBlobs()).isEmpty();
  }

  @Test
  void durable_afterAbort_keepsNothing() {
    pending.trigger(1, 5, EMPTY_BASE);
    pending.abort(1);
    pending.durable(handle(1));

    assertThat(pending.liveBlobs()).isEmpty();
  }

  @Test
  void trigger_withAnIdThatDoesNotIncrease_isInvalid() {
    pending.trigger(4, 5, EMPTY_BASE);

    assertThatThrownBy(() -> pending.trigger(4, 6, EMPTY_BASE))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("must be greater than the last one, 4");
  }

  @Test
  void checkpointsWithoutAVerdict_areToldOnce() {
    for (int id = 1; id <= PendingCheckpoints.TOLD_FROM; id++) {
      pending.checkId(id);
      pending.trigger(id, 5, EMPTY_BASE);
    }
    PrintStream before = System.err;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
    try {
      pending.checkId(1_000);
      pending.checkId(1_001);
    } finally {
      System.setErr(before);
    }
    assertThat(said.toString(StandardCharsets.UTF_8).lines())
        .singleElement()
        .asString()
        .contains("200 checkpoints of one backend, from 1 on, were neither confirmed nor aborted");
  }

  private static CheckpointHandle handle(long id) {
    BlobName blob = new BlobName(new Incarnation(1, 2), 3, BlobName.Kind.LOG);
    return new CheckpointHandle(
        id,
        new KeyGroupRange(0, 8),
        8,
        10,
        List.of(),
        List.of(new BlockRef(blob, 0, 100, 5, 10)),
        new SerializerSnapshot("string", 1, new byte[0]),
        List.of());
  }
}
