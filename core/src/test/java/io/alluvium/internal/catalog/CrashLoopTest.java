package io.alluvium.internal.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.spi.BlobName;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.Incarnation;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Takeover records stay for ever. How many there are must not show in what a start, and a first
 * checkpoint, ask of the store.
 */
class CrashLoopTest {

  private static final int STARTS = 400;
  private static final int REQUESTS_OF_A_START = 10;

  private final SharedStore shared = new SharedStore();

  private long reads(Owner owner) {
    return owner.store.calls().stream().filter(call -> call.op().equals("open")).count();
  }

  @Test
  void startsWithoutACheckpoint_eachMakesABoundedNumberOfRequests() {
    Owner first = shared.owner();
    assertThat(first.takeOver()).isEmpty();
    first.commitOne(1);
    for (int i = 0; i < STARTS; i++) {
      Owner crashing = shared.owner();
      assertThat(crashing.takeOver()).get().extracting("id").isEqualTo(1L);
      assertThat(crashing.store.calls())
          .as("requests of start %s", i)
          .hasSizeLessThanOrEqualTo(REQUESTS_OF_A_START);
    }
    Owner owner = shared.owner();
    assertThat(owner.takeOver()).get().extracting("id").isEqualTo(1L);
    owner.store.clearCalls();
    BlobName blob = owner.commitOne(2);
    assertThat(reads(owner)).as("reads of the first collection").isLessThanOrEqualTo(2);
    assertThat(shared.names()).contains(blob.toString()).hasSize(STARTS + 2 + 2);
  }

  @Test
  void startsWithoutAnyCheckpointEver_eachMakesABoundedNumberOfRequests() {
    for (int i = 0; i < STARTS; i++) {
      Owner crashing = shared.owner();
      assertThat(crashing.takeOver()).isEmpty();
      assertThat(crashing.store.calls()).hasSizeLessThanOrEqualTo(REQUESTS_OF_A_START);
    }
  }

  @Test
  void startOver_andALook_makeABoundedNumberOfRequestsToo() {
    long id = 0;
    for (int i = 0; i < 50; i++) {
      Owner owner = shared.owner();
      owner.takeOver();
      owner.commitOne(++id);
    }
    for (int i = 0; i < 50; i++) {
      assertThat(shared.owner().takeOver()).isPresent();
    }
    ControlledStore view = new ControlledStore(shared.content);
    SlotInspector inspector =
        new SlotInspector(
            view,
            new StepExecution(),
            (store, segment) -> new ChangelogStorage.Verification(List.of(), List.of()));
    assertThat(inspector.newest())
        .singleElement()
        .satisfies(entry -> assertThat(entry.checkpoint().orElseThrow().id()).isEqualTo(50));
    assertThat(view.calls()).hasSizeLessThanOrEqualTo(REQUESTS_OF_A_START);

    Owner owner = shared.owner();
    owner.catalog.startOver("job");
    assertThat(owner.store.calls()).hasSizeLessThanOrEqualTo(REQUESTS_OF_A_START);
    assertThat(owner.catalog.greatestCheckpointId()).hasValue(50);
    owner.commitOne(51);
    assertThat(inspector.list()).hasSize(1);
  }

  /** What each left is collected once, by the first that commits; its successor reads nothing. */
  @Test
  void startsThatLeftBlobs_areReadOnce() {
    Owner first = shared.owner();
    first.takeOver();
    first.commitOne(1);
    for (int i = 0; i < 50; i++) {
      Owner crashing = shared.owner();
      crashing.takeOver();
      BlobName unused = crashing.upload();
    }
    Owner owner = shared.owner();
    owner.takeOver();
    BlobName blob = owner.commitOne(2);
    assertThat(shared.raw.list(BlobName.PREFIX))
        .extracting("name")
        .containsExactly(blob.toString());
    Owner next = shared.owner();
    next.takeOver();
    next.store.clearCalls();
    next.commitOne(3);
    assertThat(reads(next)).isLessThanOrEqualTo(2);
  }

  /** Each with checkpoints of its own, which are deleted later; the records stay, far apart. */
  @Test
  void manyStartsWithCheckpoints_theNextOwnerReadsNoneOfTheOldRecords() {
    long id = 0;
    for (int i = 0; i < 100; i++) {
      Owner owner = shared.owner();
      owner.takeOver();
      owner.store.clearCalls();
      owner.commitOne(++id);
      owner.commitOne(++id);
      assertThat(reads(owner)).as("reads after %s starts", i).isLessThanOrEqualTo(2);
    }
    assertThat(shared.names()).hasSize(100 + 2);
  }

  /** A table file that has lived through many restarts still has an owner to be judged by. */
  @Test
  void blobOfAnOldOwner_isDeletedWithoutLookingForItsTakeover() {
    Owner first = shared.owner();
    first.takeOver();
    BlobName table = first.uploadTable();
    Object unused = first.commit(1, List.of(table));
    long id = 1;
    for (int i = 0; i < 30; i++) {
      Owner owner = shared.owner();
      owner.takeOver();
      unused = owner.commit(++id, List.of(table, owner.upload()));
      owner.execution.runBackground();
    }
    Owner last = shared.owner();
    last.takeOver();
    last.store.clearCalls();
    last.commitOne(++id);
    assertThat(reads(last)).isLessThanOrEqualTo(2);
    last.commitOne(++id);
    assertThat(shared.names()).doesNotContain(table.toString());
  }

  /** As records did before they told more than the slot just below. */
  @Test
  void recordsThatFollowEachOther_areReadOnceAndThenPassedOver() {
    Owner first = shared.owner();
    first.takeOver();
    first.commitOne(1);
    for (long slot = 3; slot < 103; slot++) {
      SlotRecord old =
          new SlotRecord.Takeover(
              new SlotRecord.Header(
                  "job", slot, slot - 1, new Incarnation(slot, slot), "test", Instant.EPOCH));
      assertThat(shared.raw.putIfAbsent(SlotNames.of(slot), ManifestFormat.encode(old))).isTrue();
    }
    Owner walks = shared.owner();
    assertThat(walks.takeOver()).isPresent();
    Owner jumps = shared.owner();
    assertThat(jumps.takeOver()).isPresent();
    assertThat(jumps.store.calls()).hasSizeLessThanOrEqualTo(REQUESTS_OF_A_START);
  }
}
