package io.alluvium.internal.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointInspector;
import io.alluvium.spi.ChangelogStorage;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Slots that cannot be read, after somebody decided to go on without them. */
class GivenUpSlotsTest {

  private final SharedStore shared = new SharedStore();

  @Test
  void startOver_damagedSlots_areNoNewsAfterItsFirstCommit_alsoUnderLaterOwners() {
    Owner first = shared.owner();
    first.takeOver();
    first.commitOne(1);
    shared.damage(2);
    Owner second = shared.owner();
    second.catalog.startOver("job");
    assertThat(problems()).containsExactly(SlotNames.of(2));
    second.commitOne(2);
    assertThat(problems()).isEmpty();

    Owner third = shared.owner();
    third.takeOver();
    third.commitOne(3);
    assertThat(problems()).isEmpty();
    assertThat(shared.names()).as("it may be what fences an owner").contains(SlotNames.of(2));
    shared.damage(1);
    assertThat(problems())
        .as("damage that nobody has decided about")
        .containsExactly(SlotNames.of(1));
  }

  @Test
  void takeOver_damagedSlotThatWasFallenBackFrom_isNoNewsAfterItsFirstCommit() {
    Owner first = shared.owner(Owner.retain(2));
    first.takeOver();
    first.commitOne(1);
    first.commitOne(2);
    shared.damage(3);
    Owner owner = shared.owner(Owner.fallback(2));
    owner.takeOver();
    assertThat(problems()).containsExactly(SlotNames.of(3));
    owner.live.clear();
    owner.commitOne(3);
    assertThat(problems()).isEmpty();
  }

  /** Names of the slots that are reported, in two ways. */
  private List<String> problems() {
    SlotInspector inspector =
        new SlotInspector(
            shared.raw,
            new StepExecution(),
            (store, segment) -> new ChangelogStorage.Verification(List.of(), List.of()));
    List<String> listed =
        inspector.list().stream()
            .filter(entry -> entry.problem().isPresent())
            .map(CheckpointInspector.Entry::blobName)
            .toList();
    long newest =
        inspector.list().stream()
            .flatMap(entry -> entry.checkpoint().stream())
            .mapToLong(Checkpoint::id)
            .max()
            .orElse(0);
    CheckpointInspector.Verification found = inspector.verify(newest, (name, size) -> {});
    assertThat(found.problems()).hasSameSizeAs(listed);
    return listed;
  }
}
