package io.alluvium.internal.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.Checkpoint;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.blob.MemoryBlobStore;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Incarnation;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import org.junit.jupiter.api.Test;

/**
 * Several owners of one chain, step by step: the traces that broke earlier wordings of the protocol
 * (T2, T3, T4, T5, T6, T8, T9, T11), zombies, stalls and lost answers.
 */
class ChainTraceTest {

  private final MemoryBlobStore.Content content = new MemoryBlobStore.Content();
  private final MemoryBlobStore raw = new MemoryBlobStore(content, "memory:raw", () -> 0L);
  private long seed;

  private Owner owner() {
    return new Owner(content, ++seed, Owner.retain(1));
  }

  private static boolean isSlotPut(ControlledStore.Call call) {
    return call.is("putIfAbsent", "slots/");
  }

  private static boolean isSlotList(ControlledStore.Call call) {
    return call.is("list", "slots/");
  }

  private List<String> names() {
    return raw.list("").stream().map(BlobInfo::name).toList();
  }

  private void assertRestorable(Checkpoint checkpoint) {
    for (BlobName blob : Owner.blobs(checkpoint)) {
      assertThat(raw.size(blob.toString())).as("%s of %s", blob, checkpoint.id()).isPresent();
    }
  }

  private void assertFenced(Owner zombie) {
    List<String> before = names();
    Expect.failure(
        Kind.FENCED, () -> zombie.commit(1_000, List.of()), "taken over", "must stop", "'job'");
    Expect.failure(Kind.FENCED, () -> zombie.commit(1_001, List.of()));
    Expect.failure(Kind.FENCED, zombie.catalog::collectGarbage);
    Expect.failure(Kind.FENCED, zombie.catalog::latest);
    Expect.failure(Kind.FENCED, zombie.catalog::incarnation);
    Expect.failure(Kind.FENCED, zombie::takeOver);
    zombie.execution.runBackground();
    assertThat(names()).as("a fenced owner deletes nothing").isEqualTo(before);
  }

  @Test
  void trace2_takeoverPutIntoAGap_ownsNothingAndRepeatsAbove() {
    Owner first = owner();
    first.takeOver();
    Owner taker = owner();
    // The taker has listed slot 1 as the greatest and stalls; the owner fills 2 and 3 and deletes
    // 2.
    taker.store.before(
        ChainTraceTest::isSlotPut,
        () -> {
          first.commitOne(1);
          first.commitOne(2);
          assertThat(names()).doesNotContain(SlotNames.of(2)).contains(SlotNames.of(3));
        });
    Checkpoint restored = taker.takeOver().orElseThrow();
    assertThat(restored.id()).isEqualTo(2);
    assertThat(names()).contains(SlotNames.of(2), SlotNames.of(4));
    assertRestorable(restored);
    assertFenced(first);
    taker.commitOne(3);
    assertRestorable(owner().takeOver().orElseThrow());
  }

  @Test
  void takerStalledBetweenItsPutAndItsSecondList_seesWhoWentOn() {
    Owner first = owner();
    first.takeOver();
    Owner taker = owner();
    // The put into slot 2 succeeded; before the taker looks again, another one takes over above it.
    int[] lists = {0};
    Owner other = owner();
    taker.store.before(
        call -> isSlotList(call) && ++lists[0] == 2,
        () -> {
          other.takeOver();
          other.commitOne(1);
        });
    assertThat(taker.takeOver().orElseThrow().id()).isEqualTo(1);
    assertFenced(other);
    assertFenced(first);
    taker.commitOne(2);
  }

  @Test
  void trace3_manifestStoredAnswerNeverCame_isNeitherAbortNorConfirm() {
    Owner owner = owner();
    owner.takeOver();
    BlobName first = owner.commitOne(1);
    BlobName second = owner.upload();
    owner.store.failAfter(ChainTraceTest::isSlotPut, Integer.MAX_VALUE);
    owner.store.failBefore(call -> call.is("size", "slots/"), Integer.MAX_VALUE);
    Expect.failure(
        Kind.UNAVAILABLE,
        () -> owner.commit(2, List.of(second)),
        "unknown whether checkpoint 2",
        SlotNames.of(3));
    owner.store.heal();

    List<String> before = names();
    Expect.failure(Kind.UNAVAILABLE, owner.catalog::collectGarbage, "checkpoint 2");
    Expect.failure(Kind.INVALID, () -> owner.commit(3, List.of(second)), "checkpoint 2");
    Expect.failure(Kind.INVALID, () -> owner.commit(2, List.of(first)), "same content");
    owner.execution.runBackground();
    assertThat(names()).as("nothing is deleted while the outcome is unknown").isEqualTo(before);

    Checkpoint restored = owner().takeOver().orElseThrow();
    assertThat(restored.id()).isEqualTo(2);
    assertRestorable(restored);
  }

  @Test
  void trace3_sameCheckpointAgain_findsItsOwnManifest() {
    Owner owner = owner();
    owner.takeOver();
    BlobName blob = owner.upload();
    owner.store.failAfter(ChainTraceTest::isSlotPut, Integer.MAX_VALUE);
    owner.store.failBefore(call -> call.is("size", "slots/"), Integer.MAX_VALUE);
    Expect.failure(Kind.UNAVAILABLE, () -> owner.commit(1, List.of(blob)));
    owner.store.heal();
    assertThat(owner.commit(1, List.of(blob)).written()).isTrue();
    owner.commitOne(2);
    assertThat(owner().takeOver().orElseThrow().id()).isEqualTo(2);
  }

  @Test
  void outcomeUnknown_successorFound_isFenced() {
    Owner owner = owner();
    owner.takeOver();
    BlobName blob = owner.upload();
    owner.store.failBefore(ChainTraceTest::isSlotPut, Integer.MAX_VALUE);
    Expect.failure(Kind.UNAVAILABLE, () -> owner.commit(1, List.of(blob)));
    owner.store.heal();
    owner().takeOver();
    Expect.failure(Kind.FENCED, () -> owner.commit(1, List.of(blob)));
  }

  @Test
  void lostAnswer_storedThenSubsumedBySuccessor_isFenced() {
    Owner owner = owner();
    owner.takeOver();
    BlobName blob = owner.upload();
    Owner next = owner();
    // The manifest is stored and its answer lost; before the retry a successor replaces it.
    owner.store.failAfter(ChainTraceTest::isSlotPut, 1);
    int[] puts = {0};
    owner.store.before(
        call -> isSlotPut(call) && ++puts[0] == 2,
        () -> {
          assertThat(next.takeOver().orElseThrow().id()).isEqualTo(1);
          next.commitOne(2);
          assertThat(names()).doesNotContain(SlotNames.of(2));
        });
    // The retry re-creates slot 2 below the greatest one: void, and harmless to believe in.
    owner.commit(1, List.of(blob));
    assertFenced(owner);
    next.commitOne(3);
    next.collectAtEnd();
    Checkpoint newest = owner().takeOver().orElseThrow();
    assertThat(newest.id()).isEqualTo(3);
    assertRestorable(newest);
  }

  @Test
  void trace4_takersOfOneSlot_differAndOneWins() {
    Owner first = owner();
    Owner second = owner();
    second.store.before(ChainTraceTest::isSlotPut, first::takeOver);
    second.takeOver();
    assertThat(first.catalog.incarnation()).isNotEqualTo(second.catalog.incarnation());
    assertThat(second.catalog.isOlder(first.catalog.incarnation())).isTrue();
    assertFenced(first);
    second.commitOne(1);
  }

  @Test
  void trace4_lostTakeoverAnswer_isRecognisedAsOwn() {
    Owner owner = owner();
    owner.store.failAfter(ChainTraceTest::isSlotPut, 1);
    owner.takeOver();
    assertThat(names()).containsExactly(SlotNames.of(1));
    owner.commitOne(1);
  }

  @Test
  void trace5_collectorStalledAfterPlanning_deletesNothingThatItsSuccessorNames() {
    Owner owner = owner();
    owner.takeOver();
    owner.commitOne(1);
    BlobName kept = owner.upload();
    BlobName unnamed = owner.upload();
    owner.live.add(unnamed);
    owner.commit(2, List.of(kept));
    Owner next = owner();
    List<Checkpoint> ofNext = new ArrayList<>();
    // The collection after checkpoint 2 is planned; the owner stalls before it deletes.
    owner.store.before(
        call -> call.is("delete", ""),
        () -> {
          next.takeOver();
          BlobName own = next.upload();
          ofNext.add(next.commit(3, List.of(kept, own)).checkpoint());
          next.execution.runBackground();
        });
    owner.execution.runBackground();
    assertThat(ofNext).hasSize(1);
    assertRestorable(ofNext.get(0));
    assertFenced(owner);
  }

  @Test
  void trace6_uploadedButNotYetNamed_survivesEveryCollection() {
    Owner owner = owner();
    owner.takeOver();
    owner.commitOne(1);
    BlobName waiting = owner.upload();
    owner.commitOne(2);
    owner.commitOne(3);
    owner.catalog.collectGarbage();
    assertThat(raw.size(waiting.toString())).isPresent();
    Checkpoint checkpoint = owner.commit(4, List.of(waiting)).checkpoint();
    owner.execution.runBackground();
    assertRestorable(checkpoint);
    owner.commitOne(5);
    assertThat(raw.size(waiting.toString())).as("seen once, then subsumed").isEmpty();
  }

  @Test
  void trace6_manifestBeingStored_protectsItsBlobsWithoutALiveSet() {
    Owner owner = owner();
    owner.takeOver();
    owner.commitOne(1);
    BlobName blob = owner.upload();
    owner.live.add(blob);
    owner.commitOne(2);
    assertThat(owner.live).doesNotContain(blob);
    BlobName other = owner.upload();
    owner.store.before(
        ChainTraceTest::isSlotPut,
        () -> {
          owner.live.clear();
          owner.catalog.collectGarbage();
        });
    assertRestorable(owner.commit(3, List.of(other)).checkpoint());
  }

  @Test
  void trace8_checkpointsOutOfOrder_olderIsRefused() {
    Owner owner = owner();
    owner.takeOver();
    BlobName seventh = owner.upload();
    owner.live.add(seventh);
    BlobName eighth = owner.upload();
    owner.commit(8, List.of(eighth));
    Expect.failure(Kind.INVALID, () -> owner.commit(7, List.of(seventh)), "greater than 8");
    assertThat(owner().takeOver().orElseThrow().id()).isEqualTo(8);
  }

  @Test
  void trace9_fallbackWhileTheStalledOwnerDeletes_standsOnItsOwnBlobs() {
    Owner stalled = new Owner(content, ++seed, Owner.retain(2));
    stalled.takeOver();
    stalled.commitOne(1);
    BlobName second = stalled.commitOne(2);
    BlobName third = stalled.upload();
    stalled.commit(3, List.of(third));
    Owner taker = new Owner(content, ++seed, Owner.fallback(1));
    // The stalled owner's collection after checkpoint 3 is still to come.
    raw.delete(List.of(third.toString()));
    Checkpoint damaged = taker.takeOver().orElseThrow();
    Checkpoint older = taker.catalog.fallbackFrom(damaged).orElseThrow();
    assertThat(Owner.blobs(older)).containsExactly(second);
    assertThat(taker.catalog.restoreMode()).isEqualTo(RestoreMode.DETACHED);
    taker.live.clear();
    raw.delete(List.of(SlotNames.of(older.slot()), second.toString()));
    stalled.execution.runBackground();
    taker.commitOne(4);
    assertRestorable(owner().takeOver().orElseThrow());
    assertFenced(stalled);
  }

  @Test
  void trace11_replacedOwner_doesNotTakeItsSuccessorForOlder() {
    Owner first = owner();
    first.takeOver();
    Owner second = owner();
    second.takeOver();
    Owner third = owner();
    third.takeOver();
    Incarnation last = third.catalog.incarnation();
    assertThat(first.catalog.isOlder(last)).isFalse();
    assertThat(second.catalog.isOlder(last)).isFalse();
    assertThat(second.catalog.isOlder(first.catalog.incarnation())).isTrue();
  }

  @Test
  void zombie_wakesUpAfterItsNeighboursWereCollected_isFenced() {
    Owner zombie = owner();
    zombie.takeOver();
    zombie.commitOne(1);
    zombie.commitOne(2);
    BlobName late = zombie.upload();
    Owner last = owner();
    zombie.store.before(
        ChainTraceTest::isSlotPut,
        () -> {
          Owner second = owner();
          second.takeOver();
          second.commitOne(3);
          last.takeOver();
          for (int id = 4; id < 9; id++) {
            last.commitOne(id);
          }
          last.catalog.collectGarbage();
        });
    Expect.failure(Kind.FENCED, () -> zombie.commit(3, List.of(late)), "taken over");
    assertFenced(zombie);
    Checkpoint newest = owner().takeOver().orElseThrow();
    assertThat(newest.id()).isEqualTo(8);
    assertRestorable(newest);
    last.catalog.collectGarbage();
    assertThat(names()).as("an orphan of an older incarnation").doesNotContain(late.toString());
  }

  @Test
  void zombie_collectingAfterItWasReplaced_takesNothingFromItsSuccessor() {
    Owner zombie = owner();
    zombie.takeOver();
    BlobName shared = zombie.upload();
    zombie.commit(1, List.of(shared));
    zombie.execution.runBackground();
    Owner next = owner();
    next.takeOver();
    Checkpoint checkpoint = next.commit(2, List.of(shared, next.upload())).checkpoint();
    next.execution.runBackground();
    zombie.live.clear();
    zombie.catalog.collectGarbage();
    zombie.collectAtEnd();
    assertRestorable(checkpoint);
    assertFenced(zombie);
  }

  @Test
  void lateTwin_recreatesACollectedSlot_isCollectedAgain() {
    Owner owner = owner();
    owner.takeOver();
    owner.commitOne(1);
    byte[] twin = raw.read(SlotNames.of(2), 0, (int) raw.size(SlotNames.of(2)).orElseThrow());
    owner.commitOne(2);
    assertThat(names()).doesNotContain(SlotNames.of(2));
    assertThat(raw.putIfAbsent(SlotNames.of(2), twin)).isTrue();
    owner.catalog.collectGarbage();
    assertThat(names()).doesNotContain(SlotNames.of(2));

    assertThat(raw.putIfAbsent(SlotNames.of(2), twin)).isTrue();
    Owner next = owner();
    assertThat(next.takeOver().orElseThrow().id()).isEqualTo(2);
    next.commitOne(3);
    assertThat(names()).doesNotContain(SlotNames.of(2));
  }

  @Test
  void everyPut_answerLostOrFailed_changesNothing() {
    for (boolean stored : new boolean[] {true, false}) {
      for (int failing = 1; failing <= 9; failing++) {
        lostAnswerScenario(stored, failing);
      }
    }
  }

  private static void lostAnswerScenario(boolean stored, int failing) {
    MemoryBlobStore.Content own = new MemoryBlobStore.Content();
    MemoryBlobStore store = new MemoryBlobStore(own, "memory:raw", () -> 0L);
    int[] puts = {0};
    for (int round = 0; round < 3; round++) {
      Owner owner = new Owner(own, 100 + round, Owner.retain(1));
      if (stored) {
        owner.store.failAfter(call -> isSlotPut(call) && ++puts[0] == failing, 1);
      } else {
        owner.store.failBefore(call -> isSlotPut(call) && ++puts[0] == failing, 1);
      }
      assertThat(owner.takeOver().map(Checkpoint::id).orElse(0L)).isEqualTo(2L * round);
      owner.commitOne(2L * round + 1);
      owner.commitOne(2L * round + 2);
      owner.collectAtEnd();
    }
    assertThat(puts[0]).isGreaterThanOrEqualTo(failing);
    assertThat(store.list("slots/"))
        .extracting(BlobInfo::name)
        .as("stored %s, put %d", stored, failing)
        .containsExactly(SlotNames.of(1), SlotNames.of(4), SlotNames.of(7), SlotNames.of(9));
    assertThat(store.list("data/")).hasSize(1);
  }

  @Test
  void anyCall_failsOnce_theChainStaysWhole() {
    for (int failing = 1; failing <= 60; failing++) {
      for (boolean afterEffect : new boolean[] {true, false}) {
        anyCallScenario(failing, afterEffect);
      }
    }
  }

  private static void anyCallScenario(int failing, boolean afterEffect) {
    MemoryBlobStore.Content own = new MemoryBlobStore.Content();
    int[] calls = {0};
    for (int round = 0; round < 3; round++) {
      Owner owner = new Owner(own, 100 + round, Owner.retain(2));
      if (afterEffect) {
        owner.store.failAfter(call -> !call.is("put", "") && ++calls[0] == failing, 1);
      } else {
        owner.store.failBefore(call -> !call.is("put", "") && ++calls[0] == failing, 1);
      }
      assertThat(owner.takeOver().map(Checkpoint::id).orElse(0L)).isEqualTo(2L * round);
      owner.commitOne(2L * round + 1);
      owner.commitOne(2L * round + 2);
      collectUntilItWorks(owner);
    }
    MemoryBlobStore store = new MemoryBlobStore(own, "memory:raw", () -> 0L);
    assertThat(store.list("slots/")).as("call %d", failing).hasSize(5);
    assertThat(store.list("data/")).as("call %d", failing).hasSize(2);
  }

  private static void collectUntilItWorks(Owner owner) {
    try {
      owner.collectAtEnd();
    } catch (StateBackendException e) {
      assertThat(e.kind()).isEqualTo(Kind.UNAVAILABLE);
      owner.catalog.collectGarbage();
    }
  }

  /** Real threads on one store: whoever has the greatest slot owns the chain, nobody else. */
  @Test
  void takeOver_manyThreads_oneOwnsTheChainAndTheRestAreFenced() throws Exception {
    for (int round = 0; round < 20; round++) {
      MemoryBlobStore.Content own = new MemoryBlobStore.Content();
      int racers = 4;
      CyclicBarrier start = new CyclicBarrier(racers);
      List<CompletableFuture<Owner>> taken = new ArrayList<>();
      for (int i = 0; i < racers; i++) {
        Owner owner = new Owner(own, 1_000L * round + i, Owner.retain(1));
        taken.add(
            CompletableFuture.supplyAsync(
                () -> {
                  await(start);
                  owner.takeOver();
                  return owner;
                },
                runnable -> new Thread(runnable).start()));
      }
      List<Owner> owners = taken.stream().map(CompletableFuture::join).toList();
      Set<Incarnation> winners = new HashSet<>();
      for (Owner owner : owners) {
        try {
          owner.commitOne(1);
          winners.add(owner.catalog.incarnation());
        } catch (StateBackendException e) {
          assertThat(e.kind()).isEqualTo(Kind.FENCED);
        }
      }
      assertThat(winners).as("round %d", round).hasSize(1);
    }
  }

  private static void await(CyclicBarrier barrier) {
    try {
      barrier.await();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
