package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableSnapshot;
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

/**
 * What a snapshot holds while the task goes on, and what happens when the table closes meanwhile.
 */
final class SnapshotTest {

  @TempDir Path directory;

  /**
   * The rule that everything stands on (P2): a position read before the snapshot, the snapshot in
   * another thread while changes go on, and the changes from the position on replayed over the
   * files give what was written.
   */
  @Test
  void snapshot_whileWriting_replayFromThePositionReadBefore_givesTheTable() {
    Random random = new Random(11);
    Changes changes = new Changes(random, TestTables.ALL, 0);
    ModelTable model = new ModelTable();
    List<Change> log = new ArrayList<>();
    AtomicLong appliedUpTo = new AtomicLong();
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      for (int round = 0; round < Seeds.count(60); round++) {
        CompletableFuture<Long> position = new CompletableFuture<>();
        CompletableFuture<TableSnapshot> snapshot =
            tables.snapshotInBackground(table, () -> position.complete(appliedUpTo.get()));
        int after = random.nextInt(40);
        while (!snapshot.isDone() || after-- > 0) {
          Change change = changes.next();
          change.applyTo(table);
          appliedUpTo.setRelease(change.sqn() + 1);
          model.apply(change);
          log.add(change);
        }
        Table restored =
            tables.open(TestTables.ALL, List.of(tables.part(snapshot.join(), TestTables.ALL)));
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
  void close_whileSnapshotsRun_neverTouchesFreedMemory() {
    Random random = new Random(12);
    int snapshotsDone = 0;
    try (TestTables tables = new TestTables(directory)) {
      int rounds = Seeds.count(100);
      for (int round = 0; round < rounds; round++) {
        Table table = tables.open();
        for (int i = 0; i < 200; i++) {
          TestTables.put(table, TestTables.key(i % 16, 1, "k" + i), "value " + i);
        }
        List<CompletableFuture<TableSnapshot>> snapshots = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
          snapshots.add(tables.snapshotInBackground(table, () -> {}));
        }
        long until = System.nanoTime() + random.nextInt(8_000_000);
        while (System.nanoTime() < until) {
          Thread.onSpinWait();
        }
        table.close();
        for (CompletableFuture<TableSnapshot> snapshot : snapshots) {
          snapshotsDone += isWhole(snapshot) ? 1 : 0;
        }
      }
      assertThat(snapshotsDone)
          .as("snapshots that were done before the close")
          .isLessThan(2 * rounds);
    }
  }

  private static boolean isWhole(CompletableFuture<TableSnapshot> snapshot) {
    try {
      assertThat(snapshot.join().files()).isNotEmpty();
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
  void snapshot_files_areWhatARestoreNeeds() {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      TestTables.put(table, TestTables.key(1, 1, "a"), "1");
      TableSnapshot snapshot = table.snapshotNow(tables.fresh());

      List<String> immutable =
          snapshot.files().stream()
              .filter(TableSnapshot.File::immutable)
              .map(TableSnapshot.File::name)
              .collect(Collectors.toList());
      assertThat(immutable).hasSize(1).allMatch(name -> name.endsWith(".sst"));
      assertThat(snapshot.files())
          .filteredOn(file -> !file.immutable())
          .extracting(file -> file.name().replaceAll("-.*", ""))
          .containsExactlyInAnyOrder("CURRENT", "MANIFEST");
      assertThat(snapshot.files()).allMatch(file -> file.sizeBytes() > 0);

      Table restored = tables.open(TestTables.ALL, List.of(tables.part(snapshot, TestTables.ALL)));
      assertThat(TestTables.get(restored, TestTables.key(1, 1, "a"))).isEqualTo("1");
    }
  }

  @Test
  void snapshot_again_writesOnlyNewImmutableFiles() {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      TestTables.put(table, TestTables.key(1, 1, "a"), "1");
      List<String> first = immutable(table.snapshotNow(tables.fresh()));
      assertThat(immutable(table.snapshotNow(tables.fresh()))).isEqualTo(first);
      TestTables.put(table, TestTables.key(2, 1, "b"), "2");
      assertThat(immutable(table.snapshotNow(tables.fresh()))).containsAll(first).hasSize(2);
    }
  }

  /** A restored table goes on with the files that it was restored from (R4). */
  @Test
  void snapshot_afterRestore_namesTheRestoredFilesAsTheyWere() {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      TestTables.put(table, TestTables.key(1, 1, "a"), "1");
      TableSnapshot snapshot = table.snapshotNow(tables.fresh());
      Table restored = tables.open(TestTables.ALL, List.of(tables.part(snapshot, TestTables.ALL)));
      TestTables.put(restored, TestTables.key(2, 1, "b"), "2");
      TableSnapshot later = restored.snapshotNow(tables.fresh());
      assertThat(immutable(later)).containsAll(immutable(snapshot)).hasSize(2);
      assertThat(later.directory().resolve(immutable(snapshot).get(0)))
          .hasSameBinaryContentAs(snapshot.directory().resolve(immutable(snapshot).get(0)));
    }
  }

  private static List<String> immutable(TableSnapshot snapshot) {
    return snapshot.files().stream()
        .filter(TableSnapshot.File::immutable)
        .map(TableSnapshot.File::name)
        .sorted()
        .collect(Collectors.toList());
  }

  @Test
  void snapshot_intoADirectoryThatExists_isInvalid() throws IOException {
    try (TestTables tables = new TestTables(directory)) {
      Table table = tables.open();
      Path there = Files.createDirectories(tables.fresh());
      assertThatThrownBy(() -> table.snapshotNow(there))
          .isInstanceOfSatisfying(
              StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
          .hasMessageContaining(there.toString());
    }
  }
}
