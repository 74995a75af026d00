package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Operation;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.table.Change;
import io.alluvium.testkit.table.CoalescedChanges;
import io.alluvium.testkit.table.ModelTable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Generations of tables over the same key groups, each restored from the one before with another
 * parallelism, compared with a model after every step.
 */
final class RescaleTest {

  private static final KeyGroupRange ALL = TestTables.ALL;

  @TempDir Path directory;

  static Stream<Long> seeds() {
    return Seeds.of(2);
  }

  static Stream<Long> fewSeeds() {
    return Seeds.of(1);
  }

  private record Subtask(KeyGroupRange keyGroups, Table table) {}

  @ParameterizedTest
  @MethodSource("seeds")
  void anyParallelisms_oneAfterTheOther_keepEveryEntry(long seed) {
    Random random = new Random(seed);
    ModelTable model = new ModelTable();
    try (TestTables tables = new TestTables(directory, Map.of(), Metrics.NONE)) {
      List<Subtask> subtasks = List.of(new Subtask(ALL, tables.open()));
      for (int generation = 0; generation < 5; generation++) {
        for (Subtask subtask : subtasks) {
          work(subtask, random, model);
        }
        check(subtasks, model, "before the snapshot of generation " + generation);
        subtasks = restored(tables, subtasks, 1 + random.nextInt(4), random.nextInt(10) < 3);
        check(subtasks, model, "after the restore of generation " + generation);
      }
    }
  }

  /** One to two to one, again and again: each child keeps remains of its sibling's key groups. */
  @ParameterizedTest
  @MethodSource("fewSeeds")
  void oneTwoOne_repeatedly_keepsEveryEntry(long seed) {
    Random random = new Random(seed);
    ModelTable model = new ModelTable();
    try (TestTables tables = new TestTables(directory, Map.of(), Metrics.NONE)) {
      List<Subtask> subtasks = List.of(new Subtask(ALL, tables.open()));
      for (int generation = 0; generation < 4; generation++) {
        for (Subtask subtask : subtasks) {
          work(subtask, random, model);
        }
        subtasks = restored(tables, subtasks, 1 + (generation + 1) % 2, false);
        check(subtasks, model, "generation " + generation);
      }
    }
  }

  /** Two parents with nothing in common but a restart: their sequence numbers differ widely. */
  @ParameterizedTest
  @MethodSource("fewSeeds")
  void parentsOfDifferentAge_mixNoVersions(long seed) {
    Random random = new Random(seed);
    ModelTable model = new ModelTable();
    try (TestTables tables = new TestTables(directory, Map.of(), Metrics.NONE)) {
      KeyGroupRange low = new KeyGroupRange(0, 8);
      KeyGroupRange high = new KeyGroupRange(8, 16);
      Subtask old = new Subtask(low, tables.open(low, List.of()));
      for (int i = 0; i < 4; i++) {
        work(old, random, model);
      }
      Subtask young = new Subtask(high, tables.open(high, List.of()));
      work(young, random, model);
      List<Subtask> subtasks = List.of(old, young);
      for (int parallelism : new int[] {1, 3, 2}) {
        subtasks = restored(tables, subtasks, parallelism, false);
        check(subtasks, model, "in " + parallelism + " subtasks");
        for (Subtask subtask : subtasks) {
          work(subtask, random, model);
        }
        check(subtasks, model, "after work in " + parallelism + " subtasks");
      }
    }
  }

  private static List<Subtask> restored(
      TestTables tables, List<Subtask> parents, int parallelism, boolean withoutChange) {
    List<Subtask> children = new ArrayList<>();
    for (int i = 0; i < parallelism; i++) {
      KeyGroupRange keyGroups = KeyGroupRange.ofSubtask(ALL.to(), parallelism, i);
      List<TablePart> parts = new ArrayList<>();
      for (Subtask parent : parents) {
        KeyGroupRange common = parent.keyGroups.intersect(keyGroups);
        if (!common.isEmpty()) {
          parts.add(tables.part(parent.table.snapshotNow(tables.fresh()), common));
        }
      }
      children.add(new Subtask(keyGroups, tables.open(keyGroups, parts)));
    }
    parents.forEach(parent -> parent.table.close());
    return withoutChange ? restored(tables, children, 2, false) : children;
  }

  private static void check(List<Subtask> subtasks, ModelTable model, String when) {
    ModelTable all = new ModelTable();
    for (Subtask subtask : subtasks) {
      ModelTable one = new ModelTable();
      one.addAll(subtask.table.scan(new byte[0], 0));
      assertThat(one.entries().keySet())
          .allMatch(key -> subtask.keyGroups.contains(KeyLayout.keyGroup(key, 0)));
      all.entries().putAll(one.entries());
    }
    assertThat(all.lines()).as(when).isEqualTo(model.lines());
  }

  /** Some changes one by one, sometimes many in bulk, so that files are added as they are. */
  private static void work(Subtask subtask, Random random, ModelTable model) {
    for (int i = 0; i < 3_000; i++) {
      Change change = change(subtask.keyGroups, random, 100);
      change.applyTo(subtask.table);
      model.apply(change);
    }
    if (random.nextInt(3) == 0) {
      List<Change> bulk = new ArrayList<>();
      CoalescedChanges sorted;
      do { // a deleted range may leave little of what came before
        for (int i = 0; i < 3_000; i++) {
          bulk.add(change(subtask.keyGroups, random, 14_000));
        }
        sorted = new CoalescedChanges(bulk);
      } while (sorted.sizeBytes() <= BulkApply.INGEST_FROM_BYTES);
      bulk.forEach(model::apply);
      subtask.table.apply(sorted);
    }
  }

  private static Change change(KeyGroupRange keyGroups, Random random, int valueBytes) {
    int keyGroup = keyGroups.from() + random.nextInt(keyGroups.size());
    byte[] key = TestTables.key(keyGroup, 1 + random.nextInt(2), "k" + random.nextInt(1_500));
    byte[] value = new byte[1 + random.nextInt(valueBytes)];
    random.nextBytes(value);
    int dice = random.nextInt(1_000);
    if (dice < 700) {
      return new Change(0, Operation.PUT, key, value);
    } else if (dice < 850) {
      return new Change(0, Operation.DELETE, key, new byte[0]);
    } else if (dice < 998) {
      return new Change(0, Operation.MERGE, key, new byte[] {value[0]});
    }
    // More keys than are deleted one by one, now and then.
    return new Change(0, Operation.DELETE_RANGE, TestTables.state(keyGroup, 1), new byte[0]);
  }
}
