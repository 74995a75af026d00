package io.alluvium.internal.catalog;

import static io.alluvium.internal.catalog.SharedStore.slot;
import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointCatalog.Commit;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.BlobName;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * What a damaged newest checkpoint leads to, with and without {@code alluvium.restore.fallback}.
 */
class SlotCatalogFallbackTest {

  private final SharedStore shared = new SharedStore();

  @Test
  void takeOver_damagedNewest_isCorruptAndSaysHowToFallBack() {
    damagedNewest();
    Expect.failure(
        Kind.CORRUPT, () -> shared.owner().takeOver(), slot(3), "alluvium.restore.fallback=true");
  }

  /** It could not succeed, and the owner that runs may store a sound one. */
  @Test
  void takeOver_damagedNewest_leavesThePresentOwnerAlone() {
    Owner running = shared.owner();
    running.takeOver();
    running.commitOne(1);
    shared.damage(2);
    List<String> before = shared.names();
    Expect.failure(Kind.CORRUPT, () -> shared.owner().takeOver(), slot(2));
    assertThat(shared.names()).isEqualTo(before);
    running.commitOne(2);
    assertThat(shared.owner().takeOver().orElseThrow().id()).isEqualTo(2);
  }

  /** A listing is old as soon as it is there: what it shows may be replaced. */
  @Test
  void takeOver_damagedBelowWhatWasRetiredMeanwhile_takesTheNewer() {
    Owner running = shared.owner(Owner.retain(3));
    running.takeOver();
    running.commitOne(1);
    running.commitOne(2);
    shared.damage(2);
    Owner other = shared.owner();
    other.store.before(
        call -> call.is("open", slot(3)),
        () -> {
          BlobName unused = running.commitOne(3);
          shared.raw.delete(List.of(slot(3)));
        });
    assertThat(other.takeOver().orElseThrow().id()).isEqualTo(3);
  }

  @Test
  void takeOver_damagedNewestWithFallback_restoresTheOneBelowDetached() {
    damagedNewest();
    Owner owner = shared.owner(Owner.fallback(2));
    assertThat(owner.takeOver().orElseThrow().id()).isEqualTo(1);
    assertThat(owner.catalog.restoreMode()).isEqualTo(RestoreMode.DETACHED);

    List<String> before = shared.names();
    owner.collectAtEnd();
    assertThat(shared.names())
        .as("nothing is deleted before a checkpoint of its own")
        .isEqualTo(before);
    Commit same =
        owner.catalog.commit(
            2,
            List.of(Samples.handle(2, List.copyOf(owner.live))),
            owner.catalog.latest().orElseThrow().metadata());
    assertThat(same.written()).as("only the newest slot may stand for another").isTrue();
  }

  @Test
  void takeOver_nothingButDamagedWithFallback_isCorrupt() {
    Owner first = shared.owner();
    first.takeOver();
    first.commitOne(1);
    shared.damage(2);
    Owner owner = shared.owner(Owner.fallback(1));
    Expect.failure(
        Kind.CORRUPT, owner::takeOver, "no checkpoint that can be restored", slot(2), "startOver");
  }

  /** However often it is tried: the owner that runs may store a sound one. */
  @Test
  void takeOver_nothingButDamagedWithFallback_leavesThePresentOwnerAlone() {
    Owner running = shared.owner(Owner.retain(3));
    running.takeOver();
    running.commitOne(1);
    running.commitOne(2);
    shared.damage(2);
    shared.damage(3);
    List<String> before = shared.names();
    for (int i = 0; i < 2; i++) {
      Owner other = shared.owner(Owner.fallback(1));
      Expect.failure(Kind.CORRUPT, other::takeOver, "no checkpoint that can be restored", slot(3));
      assertThat(shared.names()).isEqualTo(before);
    }
    running.commitOne(3);
    assertThat(shared.owner(Owner.fallback(1)).takeOver().orElseThrow().id()).isEqualTo(3);
  }

  @Test
  void takeOver_nothingButDamagedBelowATakeoverRecord_storesNone() {
    Owner first = shared.owner();
    first.takeOver();
    first.commitOne(1);
    shared.owner().takeOver();
    shared.damage(2);
    List<String> before = shared.names();
    Owner owner = shared.owner(Owner.fallback(1));
    Expect.failure(Kind.CORRUPT, owner::takeOver, "no checkpoint that can be restored", slot(2));
    assertThat(shared.names()).isEqualTo(before);
    owner.catalog.startOver("job");
    owner.commitOne(2);
    assertThat(shared.owner().takeOver().orElseThrow().id()).isEqualTo(2);
  }

  private void damagedNewest() {
    Owner first = shared.owner(Owner.retain(2));
    first.takeOver();
    first.commitOne(1);
    first.commitOne(2);
    shared.damage(3);
  }

  @Test
  void fallbackFrom_damagedBlobs_givesTheNextOlderAndDoesNotCountTheDamaged() {
    Owner first = shared.owner(Owner.retain(3));
    first.takeOver();
    first.commitOne(1);
    first.commitOne(2);
    first.commitOne(3);
    Owner owner = shared.owner(Owner.fallback(2));
    Checkpoint third = owner.takeOver().orElseThrow();
    Checkpoint second = owner.catalog.fallbackFrom(third).orElseThrow();
    assertThat(second.id()).isEqualTo(2);
    Checkpoint oldest = owner.catalog.fallbackFrom(second).orElseThrow();
    assertThat(oldest.id()).isEqualTo(1);
    assertThat(owner.catalog.fallbackFrom(oldest)).isEmpty();
    assertThat(owner.catalog.restoreMode()).isEqualTo(RestoreMode.DETACHED);

    Expect.failure(Kind.INVALID, () -> owner.commitOne(2), "greater than 3");
    owner.live.clear();
    owner.commitOne(4);
    owner.commitOne(5);
    assertThat(shared.names()).filteredOn(name -> name.startsWith("slots/")).hasSize(4);
    Expect.failure(Kind.INVALID, () -> owner.catalog.fallbackFrom(third), "has committed");
  }

  @Test
  void fallbackFrom_notAllowed_isEmpty() {
    damagedNewestBlobs();
    Owner owner = shared.owner();
    Checkpoint newest = owner.takeOver().orElseThrow();
    assertThat(owner.catalog.fallbackFrom(newest)).isEmpty();
  }

  private void damagedNewestBlobs() {
    Owner first = shared.owner(Owner.retain(2));
    first.takeOver();
    first.commitOne(1);
    first.commitOne(2);
  }
}
