package io.alluvium.internal.restore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.spi.Operation;
import io.alluvium.spi.SortedChanges;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class CoalescerTest {

  private static final KeyGroupRange GROUPS = new KeyGroupRange(0, 4);
  private static final int TRIALS = 1_000;

  private final Coalescer coalescer = new Coalescer();

  @Test
  void coalesce_randomChanges_haveTheEffectOfAll() {
    for (long seed = 0; seed < TRIALS; seed++) {
      Random random = new Random(seed);
      List<Change> changes = randomChanges(random, random.nextInt(200), 1 + random.nextInt(6));
      ModelTable expected = new ModelTable();
      ModelTable actual = new ModelTable();
      for (Change change : randomChanges(random, 30, 3)) {
        expected.apply(change);
        actual.apply(change);
      }
      changes.forEach(expected::apply);
      actual.apply(coalescer.coalesce(blocks(random, changes), GROUPS, group -> 0));
      assertThat(actual.holdsTheSameAs(expected)).as("seed %d: %s", seed, changes).isTrue();
      assertThat(coalescer.changes()).isEqualTo(changes.size());
    }
  }

  @Test
  void coalesce_manyKeysOfAllLengths_sortsThem() {
    // Long runs go through the radix sort, keys that are prefixes of each other through all of its
    // levels.
    for (long seed = 0; seed < 20; seed++) {
      Random random = new Random(seed);
      List<Change> changes = new ArrayList<>();
      ModelTable expected = new ModelTable();
      int alphabet = 1 + random.nextInt(4);
      for (int i = 0; i < 4_000; i++) {
        byte[] key = new byte[2 + random.nextInt(40)];
        for (int at = 2; at < key.length; at++) {
          key[at] = (byte) random.nextInt(alphabet);
        }
        Change change = new Change(i, Operation.PUT, key, new byte[] {(byte) i});
        changes.add(change);
        expected.apply(change);
      }
      ModelTable actual = new ModelTable();
      actual.apply(coalescer.coalesce(blocks(random, changes), GROUPS, group -> 0));
      assertThat(actual.holdsTheSameAs(expected)).as("seed %d", seed).isTrue();
    }
  }

  @Test
  void coalesce_keysThatAreNestedPrefixes_sortsThem() {
    List<Change> changes = new ArrayList<>();
    for (int length = 3_000; length > 2; length--) {
      changes.add(new Change(3_000 - length, Operation.PUT, new byte[length], new byte[0]));
    }
    ModelTable table = new ModelTable();
    table.apply(coalescer.coalesce(List.of(MemoryBlock.fetched(changes)), GROUPS, group -> 0));
    assertThat(table.rows()).hasSize(2_998);
  }

  @Test
  void coalesce_changesBelowThePosition_areLeftOut() {
    List<Change> changes =
        List.of(
            new Change(7, Operation.PUT, new byte[] {0, 1, 5}, new byte[] {1}),
            new Change(8, Operation.PUT, new byte[] {0, 2, 5}, new byte[] {2}),
            new Change(9, Operation.PUT, new byte[] {0, 1, 6}, new byte[] {3}));
    ModelTable table = new ModelTable();
    table.apply(
        coalescer.coalesce(
            List.of(MemoryBlock.fetched(changes)), GROUPS, group -> group == 1 ? 9 : 8));
    assertThat(table.rows().keySet()).containsExactly(new byte[] {0, 1, 6}, new byte[] {0, 2, 5});
    assertThat(coalescer.changes()).isEqualTo(2);
  }

  @Test
  void coalesce_mergeAfterDelete_isAPut() {
    SortedChanges result =
        coalescer.coalesce(
            List.of(
                MemoryBlock.fetched(
                    List.of(
                        new Change(0, Operation.DELETE, new byte[] {0, 0, 1}, new byte[0]),
                        new Change(1, Operation.MERGE, new byte[] {0, 0, 1}, new byte[] {1}),
                        new Change(2, Operation.MERGE, new byte[] {0, 0, 1}, new byte[] {2})))),
            GROUPS,
            group -> 0);
    assertThat(result.next()).isTrue();
    assertThat(result.operation()).isEqualTo(Operation.PUT);
    assertThat(
            Arrays.copyOfRange(
                result.valueArray(),
                result.valueOffset(),
                result.valueOffset() + result.valueLength()))
        .containsExactly(1, 2);
    assertThat(result.next()).isFalse();
  }

  @Test
  void coalesce_outOfOrder_isCorrupt() {
    FetchedBlock block =
        MemoryBlock.fetched(
            List.of(
                new Change(4, Operation.PUT, new byte[] {0, 3, 1}, new byte[0]),
                new Change(5, Operation.PUT, new byte[] {0, 3, 2}, new byte[0])));
    assertThatThrownBy(() -> coalescer.coalesce(List.of(block, block), GROUPS, group -> 0))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("key group 3")
        .hasMessageContaining("above 5, found 4");
  }

  /** Short keys over a small alphabet, so that they meet and cover each other often. */
  private static List<Change> randomChanges(Random random, int count, int keyBytes) {
    List<Change> changes = new ArrayList<>();
    for (int sqn = 0; sqn < count; sqn++) {
      byte[] key = new byte[3 + random.nextInt(keyBytes)];
      for (int at = 2; at < key.length; at++) {
        key[at] = (byte) (random.nextInt(3) - 1);
      }
      key[1] = (byte) random.nextInt(GROUPS.to());
      int kind = random.nextInt(20);
      Operation operation =
          kind < 2
              ? Operation.DELETE_RANGE
              : kind < 7 ? Operation.PUT : kind < 10 ? Operation.DELETE : Operation.MERGE;
      boolean hasValue = operation == Operation.PUT || operation == Operation.MERGE;
      byte[] value = hasValue ? new byte[] {(byte) sqn, (byte) random.nextInt(9)} : new byte[0];
      changes.add(new Change(sqn, operation, key, value));
    }
    return changes;
  }

  private static List<FetchedBlock> blocks(Random random, List<Change> changes) {
    List<FetchedBlock> blocks = new ArrayList<>();
    for (int at = 0; at < changes.size(); ) {
      int end = Math.min(changes.size(), at + 1 + random.nextInt(changes.size()));
      blocks.add(MemoryBlock.fetched(changes.subList(at, end)));
      at = end;
    }
    return blocks;
  }
}
