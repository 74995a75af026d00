package io.alluvium.internal.catalog;

import static io.alluvium.internal.catalog.SharedStore.slot;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog.Commit;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.catalog.CatalogSettings.Fencing;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Incarnation;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** One owner at a time: what each call does and refuses. */
class SlotCatalogTest {

  private final SharedStore shared = new SharedStore();

  @Test
  void takeOver_emptyStore_ownsTheFirstSlot() {
    Owner owner = shared.owner();
    assertThat(owner.takeOver()).isEmpty();
    assertThat(owner.catalog.latest()).isEmpty();
    assertThat(owner.catalog.restoreMode()).isEqualTo(RestoreMode.REUSE);
    assertThat(shared.names()).containsExactly(slot(1));
    assertThat(owner.catalog.names().incarnation()).isEqualTo(owner.catalog.incarnation());
  }

  @Test
  void takeOver_afterCommit_restoresWhatWasCommitted() {
    Owner first = shared.owner();
    first.takeOver();
    BlobName blob = first.commitOne(1);
    Owner second = shared.owner();
    Checkpoint restored = second.takeOver().orElseThrow();
    assertThat(restored.id()).isEqualTo(1);
    assertThat(restored.slot()).isEqualTo(2);
    assertThat(restored.job()).isEqualTo("job");
    assertThat(restored.writer()).isEqualTo(first.catalog.incarnation());
    assertThat(restored.metadata()).asString(UTF_8).isEqualTo("m1");
    assertThat(Owner.blobs(restored)).containsExactly(blob);
    assertThat(second.catalog.latest()).isPresent();
    assertThat(second.catalog.incarnation()).isNotEqualTo(first.catalog.incarnation());
  }

  @Test
  void startOver_firstCommit_retiresEverythingBelow() {
    Owner first = shared.owner(Owner.retain(3));
    first.takeOver();
    for (int id = 1; id <= 3; id++) {
      first.commitOne(id);
    }
    Owner second = shared.owner(Owner.retain(3));
    second.catalog.startOver("job");
    assertThat(second.catalog.latest()).isEmpty();
    second.catalog.collectGarbage();
    assertThat(shared.names()).contains(slot(2), slot(3), slot(4));

    BlobName blob = second.commitOne(4);
    second.catalog.collectGarbage();

    assertThat(shared.names())
        .containsExactlyInAnyOrder(slot(1), slot(5), slot(6), blob.toString());
  }

  @Test
  void startOver_damagedSlots_leavesThemAlone() {
    Owner first = shared.owner();
    first.takeOver();
    first.commitOne(1);
    shared.raw.delete(List.of(slot(2)));
    shared.raw.put(slot(2), List.of(ByteBuffer.wrap("damaged".getBytes(UTF_8))));
    Owner second = shared.owner();
    second.catalog.startOver("job");
    second.commitOne(1);
    second.catalog.collectGarbage();

    assertThat(shared.names()).contains(slot(1), slot(2), slot(3), slot(4));
    assertThat(second.catalog.latest().orElseThrow().slot()).isEqualTo(4);
  }

  @Test
  void takeOver_storeOverwrites_isInvalidAndNamesTheOption() {
    Owner owner = shared.owner();
    owner.store.ignoreConditions();
    Expect.failure(
        Kind.INVALID,
        owner::takeOver,
        slot(1),
        "only if absent",
        "If-None-Match",
        "alluvium.fencing=none");
    // The takeover record was put again, nothing else.
    assertThat(shared.names()).containsExactly(slot(1));
  }

  @Test
  void takeOver_storeOverwritesAndFencingIsNone_worksAndSeesTakenSlots() {
    CatalogSettings unfenced =
        new CatalogSettings(1, false, Duration.ofSeconds(60), Fencing.NONE, "test");
    Owner first = shared.owner(unfenced);
    first.store.ignoreConditions();
    first.takeOver();
    first.commitOne(1);
    Owner second = shared.owner(unfenced);
    second.store.ignoreConditions();
    assertThat(second.takeOver().orElseThrow().id()).isEqualTo(1);
    // Nobody keeps two processes apart, but who looks sees the other's slot.
    Expect.failure(Kind.FENCED, () -> first.commitOne(2), "was taken over");
    assertThat(second.store.calls()).noneMatch(call -> call.op().equals("putIfAbsent"));
  }

  @Test
  void takeOver_answersGetLost_stillSeesThatTheStoreRefuses() {
    Owner owner = shared.owner();
    owner.store.failAfter(call -> call.is("putIfAbsent", "slots/"), 3);
    assertThat(owner.takeOver()).isEmpty();
    assertThat(shared.names()).containsExactly(slot(1));
  }

  @Test
  void takeOver_otherJobsDirectory_isInvalidAndWritesNothing() {
    Owner first = shared.owner();
    first.takeOver();
    Owner other = shared.owner();
    Expect.failure(
        Kind.INVALID,
        () -> other.catalog.takeOver("another"),
        "'job'",
        "'another'",
        "memory:test",
        "one directory belongs to one job");
    assertThat(shared.names()).containsExactly(slot(1));
    Expect.failure(Kind.INVALID, () -> other.catalog.takeOver(" "), "name of a job");
  }

  @Test
  void takeOver_firstSlotRacedByAnotherJob_isInvalid() {
    Owner first = shared.owner();
    Owner other = shared.owner();
    other.store.before(call -> call.is("putIfAbsent", "slots/"), first::takeOver);
    Expect.failure(Kind.INVALID, () -> other.catalog.takeOver("another"), "'job'", "'another'");
    assertThat(shared.names()).containsExactly(slot(1));
  }

  @Test
  void takeOver_newerFormat_isIncompatibleAndWritesNothing() {
    byte[] newer = ManifestFormat.encode(Samples.exampleTakeover());
    newer[ManifestFormat.VERSION_AT + 1] = 9;
    ManifestFormatTest.sign(newer);
    shared.raw.putIfAbsent(slot(5), newer);
    Expect.failure(Kind.INCOMPATIBLE, () -> shared.owner().takeOver(), slot(5), "version 9");
    assertThat(shared.names()).containsExactly(slot(5));
  }

  @Test
  void takeOver_twice_isInvalid() {
    Owner owner = shared.owner();
    owner.takeOver();
    Expect.failure(
        Kind.INVALID, owner::takeOver, "owns a job already", "startOver", "open another");
  }

  @Test
  void takeOver_storeStaysAway_isUnavailableAndMayBeTriedAgain() {
    Owner owner = shared.owner();
    owner.store.failBefore(call -> call.is("list", "slots/"), Integer.MAX_VALUE);
    Expect.failure(Kind.UNAVAILABLE, owner::takeOver, "injected");
    owner.store.heal();
    owner.takeOver();
    assertThat(owner.catalog.incarnation()).isNotNull();
  }

  @Test
  void anyCall_beforeTakeOver_isInvalid() {
    Owner owner = shared.owner();
    Expect.failure(Kind.INVALID, owner.catalog::incarnation, "takeOver");
    Expect.failure(Kind.INVALID, owner.catalog::latest, "takeOver");
    Expect.failure(Kind.INVALID, owner.catalog::collectGarbage, "takeOver");
    Expect.failure(Kind.INVALID, () -> owner.catalog.commit(1, List.of(), new byte[0]), "takeOver");
    Expect.failure(Kind.INVALID, () -> owner.catalog.names().next(BlobName.Kind.LOG), "takeOver");
  }

  @Test
  void anyCall_afterClose_isClosed() {
    Owner owner = shared.owner();
    owner.takeOver();
    owner.catalog.close();
    owner.catalog.close();
    Expect.failure(Kind.CLOSED, owner::takeOver);
    Expect.failure(Kind.CLOSED, owner.catalog::latest);
    Expect.failure(Kind.CLOSED, () -> owner.catalog.commit(1, List.of(), new byte[0]));
  }

  @Test
  void commit_idNotGreater_isInvalid() {
    Owner owner = shared.owner();
    owner.takeOver();
    owner.commitOne(8);
    Expect.failure(Kind.INVALID, () -> owner.commitOne(7), "checkpoint 7", "greater than 8");
    Expect.failure(Kind.INVALID, () -> owner.commitOne(8), "checkpoint 8");
    Owner next = shared.owner();
    next.takeOver();
    Expect.failure(Kind.INVALID, () -> next.commitOne(8), "checkpoint 8");
    next.commitOne(9);
  }

  @Test
  void commit_nothingChanged_writesNothing() {
    Owner owner = shared.owner();
    owner.takeOver();
    BlobName blob = owner.commitOne(1);
    owner.store.clearCalls();
    Commit same =
        owner.catalog.commit(2, List.of(Samples.handle(2, List.of(blob))), "m1".getBytes(UTF_8));
    owner.execution.runBackground();
    assertThat(same.written()).isFalse();
    assertThat(same.manifestBytes()).isZero();
    assertThat(same.checkpoint().id()).isEqualTo(1);
    assertThat(owner.store.calls()).isEmpty();
    Expect.failure(Kind.INVALID, () -> owner.commitOne(2), "greater than 2");

    Commit changed =
        owner.catalog.commit(3, List.of(Samples.handle(3, List.of(blob))), "m3".getBytes(UTF_8));
    assertThat(changed.written()).isTrue();
    assertThat(changed.manifestBytes()).isEqualTo(shared.raw.size(slot(3)).orElseThrow());
  }

  @Test
  void commit_nothingChangedSinceRestore_writesNothing() {
    Owner first = shared.owner();
    first.takeOver();
    BlobName blob = first.commitOne(1);
    Owner second = shared.owner();
    second.takeOver();
    Commit same =
        second.catalog.commit(2, List.of(Samples.handle(2, List.of(blob))), "m1".getBytes(UTF_8));
    assertThat(same.written()).isFalse();
    assertThat(shared.owner().takeOver().orElseThrow().id()).isEqualTo(1);
  }

  @Test
  void commit_handlesThatDoNotCoverTheJob_isInvalid() {
    Owner owner = shared.owner();
    owner.takeOver();
    CheckpointHandle half = over(1, 0, 8);
    CheckpointHandle other = over(1, 8, 16);
    Expect.failure(
        Kind.INVALID, () -> owner.catalog.commit(1, List.of(half), new byte[0]), "[0, 8) of 16");
    Expect.failure(Kind.INVALID, () -> owner.catalog.commit(1, List.of(other), new byte[0]));
    Expect.failure(
        Kind.INVALID, () -> owner.catalog.commit(1, List.of(half, half, other), new byte[0]));
    Expect.failure(
        Kind.INVALID, () -> owner.catalog.commit(2, List.of(half, other), new byte[0]), "1", "2");
    assertThat(owner.catalog.commit(1, List.of(other, half), new byte[0]).written()).isTrue();
  }

  private static CheckpointHandle over(long id, int from, int to) {
    return new CheckpointHandle(
        id, new KeyGroupRange(from, to), 16, 0, List.of(), List.of(), Samples.STRING, List.of());
  }

  @Test
  void retention_keepsTheNewestAndTheirBlobs() {
    Owner owner = shared.owner(Owner.retain(2));
    owner.takeOver();
    List<BlobName> blobs = new ArrayList<>();
    for (int id = 1; id <= 5; id++) {
      blobs.add(owner.commitOne(id));
    }
    assertThat(shared.names())
        .containsExactly(
            blobs.get(3).toString(), blobs.get(4).toString(), slot(1), slot(5), slot(6));
  }

  @Test
  void isOlder_takeoversBelow_only() {
    Owner first = shared.owner();
    first.takeOver();
    first.commitOne(1);
    Owner second = shared.owner();
    second.takeOver();
    Owner third = shared.owner();
    third.takeOver();
    assertThat(third.catalog.isOlder(first.catalog.incarnation())).isTrue();
    assertThat(third.catalog.isOlder(second.catalog.incarnation())).isTrue();
    assertThat(third.catalog.isOlder(third.catalog.incarnation())).isFalse();
    assertThat(third.catalog.isOlder(new Incarnation(1, 2))).isFalse();
    assertThat(second.catalog.isOlder(third.catalog.incarnation())).isFalse();
    third.store.clearCalls();
    assertThat(third.catalog.isOlder(first.catalog.incarnation())).isTrue();
    assertThat(third.store.calls()).as("remembered").isEmpty();
  }

  @Test
  void commit_blobThatWasCollected_isRefusedBeforeAnythingIsStored() {
    Owner owner = shared.owner();
    owner.takeOver();
    BlobName first = owner.commitOne(1);
    owner.commitOne(2);
    Expect.failure(
        Kind.INTERNAL, () -> owner.commit(3, List.of(first)), first.toString(), "collected");
    Expect.failure(
        Kind.INTERNAL,
        () -> owner.commit(3, List.of(Samples.log(owner.catalog.incarnation(), 99))),
        "never handed out");
    assertThat(owner.commit(3, List.of(owner.upload())).written()).isTrue();
  }

  @Test
  void settings_comeFromTheConfiguration() {
    CatalogSettings settings =
        CatalogSettings.of(
            io.alluvium.config.Configuration.of(
                java.util.Map.of(
                    "state.checkpoints.dir", "memory:",
                    "state.checkpoints.num-retained", "3",
                    "alluvium.restore.fallback", "true",
                    "alluvium.checkpoint.commit-timeout", "5s"),
                io.alluvium.config.CoreOptions.ALL));
    assertThat(settings.retained()).isEqualTo(3);
    assertThat(settings.fallback()).isTrue();
    assertThat(settings.commitTimeout()).isEqualTo(Duration.ofSeconds(5));
    assertThat(settings.libraryVersion()).isNotEmpty();
  }

  /** Memory may run out in a commit as anywhere else; the put may have taken effect or not. */
  @Test
  void commit_endsInAnError_mayBeRepeated() {
    for (boolean afterEffect : new boolean[] {false, true}) {
      SharedStore shared = new SharedStore();
      Owner owner = shared.owner();
      Object unused = owner.takeOver();
      BlobName blob = owner.upload();
      String slot = SharedStore.slot(2);
      owner.store.before(
          call -> call.is("putIfAbsent", slot),
          () -> {
            if (afterEffect) {
              owner.store.before(
                  again -> again.is("size", slot),
                  () -> {
                    throw new OutOfMemoryError("test");
                  });
              owner.store.failAfter(call -> call.is("putIfAbsent", slot), 1);
            } else {
              throw new OutOfMemoryError("test");
            }
          });
      assertThatThrownBy(() -> owner.commit(1, List.of(blob))).isInstanceOf(OutOfMemoryError.class);
      assertThat(owner.commit(1, List.of(blob)).checkpoint().id()).isEqualTo(1);
      owner.commitOne(2);
      assertThat(shared.owner().takeOver()).get().extracting("id").isEqualTo(2L);
    }
  }
}
