package io.alluvium.internal.restore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointHandle.Part;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.StateKind;
import io.alluvium.StateRegistration;
import io.alluvium.internal.restore.RestorePlan.BlockRead;
import io.alluvium.internal.restore.RestorePlan.Source;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.TableFile;
import java.util.List;
import java.util.Optional;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

final class RestorePlanTest {

  private static final int MAX = 8;
  private static final SerializerSnapshot KEY = new SerializerSnapshot("int", 1, new byte[0]);

  @Test
  void of_noHandles_isEmpty() {
    RestorePlan plan = RestorePlan.of(List.of(), range(0, 4), MAX);
    assertThat(plan).isEqualTo(RestorePlan.empty(range(0, 4)));
    assertThat(plan.startSqn()).isZero();
  }

  @Test
  void of_oneHandle_replaysPartBlocksThenTail() {
    Materialization files = files(1, 20, 25);
    Part part =
        new Part(range(0, 8), Optional.of(files), List.of(block(1, 10, 20), block(2, 20, 30)));
    CheckpointHandle handle =
        handle(range(0, 8), 50, List.of(part), List.of(block(3, 30, 40), block(4, 40, 50)));

    RestorePlan plan = RestorePlan.of(List.of(handle), range(0, 8), MAX);

    assertThat(plan.startSqn()).isEqualTo(50);
    assertThat(plan.sources()).containsExactly(new Source(files, range(0, 8)));
    assertThat(plan.reads())
        .containsExactly(
            new BlockRead(block(2, 20, 30), range(0, 8)),
            new BlockRead(block(3, 30, 40), range(0, 8)),
            new BlockRead(block(4, 40, 50), range(0, 8)));
    assertThat(plan.position(5)).isEqualTo(20);
    assertThat(plan.parts())
        .containsExactly(
            new Part(
                range(0, 8),
                Optional.of(files),
                List.of(block(2, 20, 30), block(3, 30, 40), block(4, 40, 50))));
  }

  @Test
  void of_youngHandle_replaysTheTailOntoNothing() {
    CheckpointHandle handle =
        handle(range(0, 8), 10, List.of(), List.of(block(1, 0, 4), block(2, 4, 10)));
    RestorePlan plan = RestorePlan.of(List.of(handle), range(2, 4), MAX);
    assertThat(plan.sources()).isEmpty();
    assertThat(plan.position(3)).isZero();
    assertThat(plan.parts())
        .containsExactly(
            new Part(range(2, 4), Optional.empty(), List.of(block(1, 0, 4), block(2, 4, 10))));
  }

  @Test
  void of_keyGroupsWithoutAPart_stillGetTheTail() {
    Part part = new Part(range(2, 4), Optional.of(files(1, 5, 5)), List.of());
    CheckpointHandle handle = handle(range(0, 8), 10, List.of(part), List.of(block(1, 0, 10)));
    RestorePlan plan = RestorePlan.of(List.of(handle), range(0, 8), MAX);
    assertThat(plan.parts())
        .extracting(Part::keyGroups)
        .containsExactly(range(0, 2), range(2, 4), range(4, 8));
    assertThat(plan.position(1)).isZero();
    assertThat(plan.position(3)).isEqualTo(5);
    assertThat(plan.reads()).containsExactly(new BlockRead(block(1, 0, 10), range(0, 8)));
  }

  @Test
  void of_twoParents_startsAtTheGreatestEnd() {
    Part left = new Part(range(0, 4), Optional.of(files(1, 7, 7)), List.of());
    Part right = new Part(range(4, 8), Optional.of(files(2, 90, 95)), List.of());
    CheckpointHandle first = handle(range(0, 4), 9, List.of(left), List.of(block(1, 7, 9)));
    CheckpointHandle second = handle(range(4, 8), 99, List.of(right), List.of(block(2, 88, 99)));

    RestorePlan plan = RestorePlan.of(List.of(second, first), range(2, 6), MAX);

    assertThat(plan.startSqn()).isEqualTo(99);
    assertThat(plan.sources())
        .containsExactly(
            new Source(files(1, 7, 7), range(2, 4)), new Source(files(2, 90, 95), range(4, 6)));
    assertThat(plan.reads())
        .containsExactly(
            new BlockRead(block(1, 7, 9), range(2, 4)),
            new BlockRead(block(2, 88, 99), range(4, 6)));
    assertThat(plan.position(3)).isEqualTo(7);
    assertThat(plan.position(4)).isEqualTo(90);
  }

  @Test
  void of_filesThatWereSplitBefore_openThemOnce() {
    Materialization files = files(1, 7, 7);
    CheckpointHandle first =
        handle(
            range(0, 4),
            9,
            List.of(new Part(range(0, 4), Optional.of(files), List.of())),
            List.of(block(1, 7, 9)));
    CheckpointHandle second =
        handle(
            range(4, 8),
            12,
            List.of(new Part(range(4, 8), Optional.of(files), List.of())),
            List.of(block(2, 7, 12)));
    RestorePlan plan = RestorePlan.of(List.of(first, second), range(0, 8), MAX);
    assertThat(plan.sources()).containsExactly(new Source(files, range(0, 8)));
    assertThat(plan.parts()).hasSize(2);
  }

  @Test
  void of_handleThatDoesNotOverlap_isLeftAlone() {
    CheckpointHandle mine = handle(range(0, 4), 5, List.of(), List.of(block(1, 0, 5)));
    CheckpointHandle other =
        handle(range(4, 8), 500, List.of(), List.of(block(2, 0, 500)), state("a", 1, KEY));
    RestorePlan plan = RestorePlan.of(List.of(mine, other), range(0, 4), MAX);
    assertThat(plan.startSqn()).isEqualTo(5);
    assertThat(plan.reads()).hasSize(1);
    assertThat(plan.states()).isEmpty();
  }

  @Test
  void of_gap_isInvalid() {
    CheckpointHandle left = handle(range(0, 3), 0, List.of(), List.of());
    CheckpointHandle right = handle(range(5, 8), 0, List.of(), List.of());
    assertFails(
        Kind.INVALID, () -> RestorePlan.of(List.of(left, right), range(0, 8), MAX), "[3, 5)");
    assertFails(Kind.INVALID, () -> RestorePlan.of(List.of(left), range(2, 4), MAX), "[3, 4)");
    assertFails(Kind.INVALID, () -> RestorePlan.of(List.of(right), range(0, 2), MAX), "[0, 2)");
  }

  @Test
  void of_overlappingHandles_isInvalid() {
    CheckpointHandle left = handle(range(0, 5), 0, List.of(), List.of());
    CheckpointHandle right = handle(range(4, 8), 0, List.of(), List.of());
    assertFails(
        Kind.INVALID,
        () -> RestorePlan.of(List.of(left, right), range(0, 8), MAX),
        "[0, 5)",
        "[4, 8)");
  }

  @Test
  void of_handlesOfTwoCheckpoints_isInvalid() {
    CheckpointHandle first = handle(range(0, 4), 0, List.of(), List.of());
    CheckpointHandle second =
        new CheckpointHandle(12, range(4, 8), MAX, 0, List.of(), List.of(), KEY, List.of());
    assertFails(
        Kind.INVALID,
        () -> RestorePlan.of(List.of(first, second), range(0, 8), MAX),
        "checkpoint 11",
        "checkpoint 12");
  }

  @Test
  void of_anotherMaxParallelism_isInvalid() {
    CheckpointHandle handle = handle(range(0, 8), 0, List.of(), List.of());
    assertFails(
        Kind.INVALID, () -> RestorePlan.of(List.of(handle), range(0, 8), 16), "of 8", "with 16");
  }

  @Test
  void of_statesOfAllHandles_areJoined() {
    CheckpointHandle left = handle(range(0, 4), 0, List.of(), List.of(), state("b", 2, KEY));
    CheckpointHandle right =
        handle(range(4, 8), 0, List.of(), List.of(), state("a", 1, KEY), state("b", 2, KEY));
    assertThat(RestorePlan.of(List.of(left, right), range(0, 8), MAX).states())
        .containsExactly(state("a", 1, KEY), state("b", 2, KEY));
  }

  @Test
  void of_statesThatContradict_areIncompatible() {
    SerializerSnapshot newer = new SerializerSnapshot("int", 2, new byte[0]);
    CheckpointHandle left = handle(range(0, 4), 0, List.of(), List.of(), state("a", 1, KEY));
    CheckpointHandle format = handle(range(4, 8), 0, List.of(), List.of(), state("a", 1, newer));
    CheckpointHandle id = handle(range(4, 8), 0, List.of(), List.of(), state("b", 1, KEY));
    assertFails(
        Kind.INCOMPATIBLE,
        () -> RestorePlan.of(List.of(left, format), range(0, 8), MAX),
        "'a'",
        "int v1",
        "int v2");
    assertFails(
        Kind.INCOMPATIBLE,
        () -> RestorePlan.of(List.of(left, id), range(0, 8), MAX),
        "'a'",
        "'b'",
        "id 1");
  }

  @Test
  void of_keysInTwoFormats_areIncompatible() {
    CheckpointHandle left = handle(range(0, 4), 0, List.of(), List.of());
    CheckpointHandle right =
        new CheckpointHandle(
            11,
            range(4, 8),
            MAX,
            0,
            List.of(),
            List.of(),
            new SerializerSnapshot("long", 1, new byte[0]),
            List.of());
    assertFails(
        Kind.INCOMPATIBLE,
        () -> RestorePlan.of(List.of(left, right), range(0, 8), MAX),
        "int v1",
        "long v1");
  }

  @Test
  void of_filesFromAfterTheEnd_areCorrupt() {
    Part part = new Part(range(0, 8), Optional.of(files(1, 5, 11)), List.of());
    CheckpointHandle handle = handle(range(0, 8), 10, List.of(part), List.of());
    assertFails(
        Kind.CORRUPT, () -> RestorePlan.of(List.of(handle), range(0, 8), MAX), "10", "up to 11");
  }

  @Test
  void of_changelogWithAHole_isCorrupt() {
    assertTailIsCorrupt("from sequence number 4", block(1, 0, 4), block(2, 5, 10));
    assertTailIsCorrupt("at or below 10", block(1, 0, 4), block(2, 4, 11));
    assertTailIsCorrupt("ends at 9", block(1, 0, 4), block(2, 4, 9));
    assertTailIsCorrupt("[4, 4)", block(1, 0, 4), block(2, 4, 4));
  }

  @Test
  void of_changesMissingAboveTheFiles_areCorrupt() {
    List<BlockRef> none = List.of();
    List<BlockRef> tail = List.of(block(3, 7, 10));
    assertMissing("from sequence number 5, where its files end, to 7", none, tail);
    assertMissing("from sequence number 5, where its files end, to 10", none, none);
    assertMissing("to 6", List.of(block(1, 6, 7)), tail);
    // Blocks that lie wholly below the position do not count.
    assertMissing("to 7", List.of(block(1, 2, 5)), tail);
  }

  private static void assertMissing(String reason, List<BlockRef> blocks, List<BlockRef> tail) {
    Part part = new Part(range(0, 8), Optional.of(files(1, 5, 5)), blocks);
    CheckpointHandle handle = handle(range(0, 8), 10, List.of(part), tail);
    assertFails(Kind.CORRUPT, () -> RestorePlan.of(List.of(handle), range(2, 4), MAX), reason);
  }

  @Test
  void of_youngHandleWithoutItsFirstChanges_isCorrupt() {
    CheckpointHandle late = handle(range(0, 8), 10, List.of(), List.of(block(1, 3, 10)));
    CheckpointHandle none = handle(range(0, 8), 10, List.of(), List.of());
    assertFails(
        Kind.CORRUPT,
        () -> RestorePlan.of(List.of(late), range(0, 8), MAX),
        "key groups [0, 8) from sequence number 0, where it starts, to 3");
    assertFails(
        Kind.CORRUPT, () -> RestorePlan.of(List.of(none), range(0, 8), MAX), "starts, to 10");
  }

  /** The new changelog starts above the end of some parents: nothing is missing in between. */
  @Test
  void of_parentsThatEndedEarlier_holdEverythingBelowTheStart() {
    Part files = new Part(range(2, 4), Optional.of(files(1, 9, 9)), List.of());
    CheckpointHandle ended = handle(range(2, 4), 9, List.of(files), List.of());
    CheckpointHandle empty = handle(range(0, 2), 0, List.of(), List.of());
    CheckpointHandle longer = handle(range(4, 8), 20, List.of(), List.of(block(1, 0, 20)));
    RestorePlan first = RestorePlan.of(List.of(empty, ended, longer), range(0, 8), MAX);
    assertThat(first.startSqn()).isEqualTo(20);
    assertThat(first.position(3)).isEqualTo(9);

    CheckpointHandle next =
        handle(range(0, 8), 25, first.parts(), List.of(block(2, 20, 22), block(3, 22, 25)));
    RestorePlan second = RestorePlan.of(List.of(next), range(0, 8), MAX);
    assertThat(second.position(1)).isEqualTo(20);
    assertThat(second.position(3)).isEqualTo(20);
    assertThat(second.position(4)).isZero();
    assertThat(second.sources()).extracting(Source::keyGroups).containsExactly(range(2, 4));

    CheckpointHandle torn = handle(range(0, 8), 25, first.parts(), List.of(block(3, 22, 25)));
    assertFails(
        Kind.CORRUPT,
        () -> RestorePlan.of(List.of(torn), range(0, 8), MAX),
        "key groups [0, 2) from sequence number 20, where its files end, to 22");
  }

  @Test
  void of_siblingsThatWentOnAtDifferentPositions_openTheirFilesOnce() {
    Part left = new Part(range(0, 4), Optional.of(files(1, 9, 9)), List.of());
    Part right = new Part(range(4, 8), Optional.of(files(1, 20, 20)), List.of());
    CheckpointHandle first = handle(range(0, 4), 9, List.of(left), List.of());
    CheckpointHandle second = handle(range(4, 8), 20, List.of(right), List.of());
    assertThat(RestorePlan.of(List.of(first, second), range(0, 8), MAX).sources())
        .extracting(Source::keyGroups)
        .containsExactly(range(0, 8));
  }

  @Test
  void of_overlappingParts_isCorrupt() {
    CheckpointHandle handle =
        handle(
            range(0, 8),
            10,
            List.of(
                new Part(range(0, 5), Optional.of(files(1, 5, 5)), List.of()),
                new Part(range(4, 8), Optional.of(files(2, 5, 5)), List.of())),
            List.of());
    assertFails(
        Kind.CORRUPT, () -> RestorePlan.of(List.of(handle), range(0, 8), MAX), "key group 4");
  }

  private static void assertTailIsCorrupt(String reason, BlockRef... tail) {
    CheckpointHandle handle = handle(range(0, 8), 10, List.of(), List.of(tail));
    assertFails(Kind.CORRUPT, () -> RestorePlan.of(List.of(handle), range(0, 8), MAX), reason);
  }

  private static void assertFails(Kind kind, ThrowingCallable call, String... parts) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(kind))
        .hasMessageContainingAll(parts);
  }

  private static KeyGroupRange range(int from, int to) {
    return new KeyGroupRange(from, to);
  }

  private static CheckpointHandle handle(
      KeyGroupRange keyGroups,
      long end,
      List<Part> parts,
      List<BlockRef> tail,
      StateRegistration... states) {
    return new CheckpointHandle(11, keyGroups, MAX, end, parts, tail, KEY, List.of(states));
  }

  private static StateRegistration state(String name, int id, SerializerSnapshot value) {
    return new StateRegistration(name, id, StateKind.VALUE, KEY, List.of(value));
  }

  private static Materialization files(long number, long position, long containedUpTo) {
    BlobName blob = new BlobName(new Incarnation(1, 2), number, BlobName.Kind.TABLE);
    return new Materialization(
        "model 1", position, containedUpTo, List.of(new TableFile("1.sst", blob, 10, 3, true)));
  }

  private static BlockRef block(long number, long from, long to) {
    return new BlockRef(
        new BlobName(new Incarnation(1, 2), number, BlobName.Kind.LOG), 0, 100, from, to);
  }
}
