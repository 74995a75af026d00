package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableCut;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.table.Change;
import io.alluvium.testkit.table.Changes;
import io.alluvium.testkit.table.ModelTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a cut holds while the task goes on, and what happens when the table closes meanwhile. */
final class CutTest {

  @TempDir Path directory;

  /**
   * The rule that everything stands on (P2): a position read before the cut, the cut in another
   * thread while changes go on, and the changes from the position on replayed over the files give
   * what was written.
   */
  @Test
  void cut_whileWriting_replayFromThePositionReadBefore_givesTheTable() {
    Random random = new Random(11);
    Changes changes = new Changes(random, TestTables.ALL, 0);
    ModelTable model = new ModelTable();
    List<Change> log = new ArrayList<>();
    AtomicLong appliedUpTo = new AtomicLong();
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      for (int round = 0; round < Seeds.count(60); round++) {
        CompletableFuture<Long> position = new CompletableFuture<>();
        CompletableFuture<TableCut> cut =
            tables.cutInBackground(table, () -> position.complete(appliedUpTo.get()));
        int after = random.nextInt(40);
        while (!cut.isDone() || after-- > 0) {
          Change change = changes.next();
          change.applyTo(table);
          appliedUpTo.setRelease(change.sqn() + 1);
          model.apply(change);
          log.add(change);
        }
        Table restored =
            tables.open(TestTables.ALL, List.of(tables.part(cut.join(), TestTables.ALL)));
        log.subList(position.join().intValue(), log.size())
            .forEach(change -> change.applyTo(restored));
        assertThat(ModelTable.of(restored, TestTables.ALL).readableLines())
            .as("round %s", round)
            .isEqualTo(model.readableLines());
        restored.close();
      }
    }
  }

  /** Freed memory that is touched ends the whole JVM, so surviving this is the assertion. */
  @Test
  void close_whileCutsRun_neverTouchesFreedMemory() {
    Random random = new Random(12);
    int cutsDone = 0;
    try (TestTables tables = new TestTables(directory)) {
      int rounds = Seeds.count(100);
      for (int round = 0; round < rounds; round++) {
        Table table = tables.open();
        for (int i = 0; i < 200; i++) {
          TestTables.put(table, TestTables.key(i % 16, 1, "k" + i), "value " + i);
        }
        List<CompletableFuture<TableCut>> cuts = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
          cuts.add(tables.cutInBackground(table, () -> {}));
        }
        long until = System.nanoTime() + random.nextInt(8_000_000);
        while (System.nanoTime() < until) {
          Thread.onSpinWait();
        }
        table.close();
        for (CompletableFuture<TableCut> cut : cuts) {
          cutsDone += isWhole(cut) ? 1 : 0;
        }
      }
      assertThat(cutsDone).as("cuts that were done before the close").isLessThan(2 * rounds);
    }
  }

  private static boolean isWhole(CompletableFuture<TableCut> cut) {
    try {
      assertThat(cut.join().files()).isNotEmpty();
      return true;
    } catch (CompletionException e) {
      assertThat(e.getCause())
          .isInstanceOfSatisfying(
              StateBackendException.class,
              failure -> assertThat(failure.kind()).as("%s", failure).isEqualTo(Kind.CLOSED));
      return false;
    }
  }

  @Test
  void cut_files_areWhatARestoreNeeds() {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      TestTables.put(table, TestTables.key(1, 1, "a"), "1");
      TableCut cut = table.cutNow(tables.fresh());

      List<String> immutable =
          cut.files().stream()
              .filter(TableCut.File::immutable)
              .map(TableCut.File::name)
              .collect(Collectors.toList());
      assertThat(immutable).hasSize(1).allMatch(name -> name.endsWith(".sst"));
      assertThat(cut.files())
          .filteredOn(file -> !file.immutable())
          .extracting(file -> file.name().replaceAll("-.*", ""))
          .containsExactlyInAnyOrder("CURRENT", "MANIFEST");
      assertThat(cut.files()).allMatch(file -> file.sizeBytes() > 0);

      Table restored = tables.open(TestTables.ALL, List.of(tables.part(cut, TestTables.ALL)));
      assertThat(TestTables.get(restored, TestTables.key(1, 1, "a"))).isEqualTo("1");
    }
  }

  @Test
  void cut_again_writesOnlyNewImmutableFiles() {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      TestTables.put(table, TestTables.key(1, 1, "a"), "1");
      List<String> first = immutable(table.cutNow(tables.fresh()));
      assertThat(immutable(table.cutNow(tables.fresh()))).isEqualTo(first);
      TestTables.put(table, TestTables.key(2, 1, "b"), "2");
      assertThat(immutable(table.cutNow(tables.fresh()))).containsAll(first).hasSize(2);
    }
  }

  /** A restored table goes on with the files that it was restored from (R4). */
  @Test
  void cut_afterRestore_namesTheRestoredFilesAsTheyWere() {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      TestTables.put(table, TestTables.key(1, 1, "a"), "1");
      TableCut cut = table.cutNow(tables.fresh());
      Table restored = tables.open(TestTables.ALL, List.of(tables.part(cut, TestTables.ALL)));
      TestTables.put(restored, TestTables.key(2, 1, "b"), "2");
      TableCut later = restored.cutNow(tables.fresh());
      assertThat(immutable(later)).containsAll(immutable(cut)).hasSize(2);
      assertThat(later.directory().resolve(immutable(cut).get(0)))
          .hasSameBinaryContentAs(cut.directory().resolve(immutable(cut).get(0)));
    }
  }

  private static List<String> immutable(TableCut cut) {
    return cut.files().stream()
        .filter(TableCut.File::immutable)
        .map(TableCut.File::name)
        .sorted()
        .collect(Collectors.toList());
  }

  @Test
  void cut_intoADirectoryThatExists_isInvalid() throws IOException {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      Path there = Files.createDirectories(tables.fresh());
      assertThatThrownBy(() -> table.cutNow(there))
          .isInstanceOfSatisfying(
              StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
          .hasMessageContaining(there.toString());
    }
  }
}
