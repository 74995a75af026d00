package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableSnapshot;
import io.alluvium.testkit.table.ModelTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How several tables become one by their files. */
final class TableImportTest {

  private static final KeyGroupRange ALL = TestTables.ALL;
  private static final KeyGroupRange LOW = new KeyGroupRange(0, 8);
  private static final KeyGroupRange HIGH = new KeyGroupRange(8, 16);

  @TempDir Path directory;

  private static void fill(Table table, KeyGroupRange keyGroups, int from, int to) {
    for (int i = from; i < to; i++) {
      int keyGroup = keyGroups.from() + i % keyGroups.size();
      TestTables.put(table, TestTables.key(keyGroup, 1, "k" + i), "value " + i);
    }
  }

  private static List<String> lines(Table table) {
    ModelTable model = new ModelTable();
    model.addAll(table.scan(new byte[0], 0));
    return model.lines();
  }

  /** What tells the materializer that a file was uploaded before, under whatever local name. */
  private static Set<Long> checksums(TableSnapshot snapshot) throws IOException {
    Set<Long> checksums = new HashSet<>();
    for (TableSnapshot.File file : snapshot.files()) {
      if (file.immutable()) {
        CRC32C crc = new CRC32C();
        crc.update(Files.readAllBytes(file.path()));
        checksums.add(crc.getValue());
      }
    }
    return checksums;
  }

  @Test
  void severalParts_withoutOverlap_keepTheirFilesByteForByte() throws IOException {
    try (TestTables tables = new TestTables(directory, Map.of(), Metrics.NONE)) {
      Table low = tables.open(LOW, List.of());
      Table high = tables.open(HIGH, List.of());
      fill(low, LOW, 0, 5_000);
      fill(high, HIGH, 0, 100);
      TableSnapshot lowSnapshot = low.snapshotNow(tables.fresh());
      TableSnapshot highSnapshot = high.snapshotNow(tables.fresh());
      Table united =
          tables.open(ALL, List.of(tables.part(lowSnapshot, LOW), tables.part(highSnapshot, HIGH)));

      TableSnapshot snapshot = united.snapshotNow(tables.fresh());
      Set<Long> before = checksums(lowSnapshot);
      before.addAll(checksums(highSnapshot));
      assertThat(checksums(snapshot)).isEqualTo(before).hasSizeGreaterThan(1);
      List<String> both = new ArrayList<>(lines(low));
      both.addAll(lines(high));
      assertThat(lines(united)).isEqualTo(both);
    }
  }

  /** Key groups 5 to 11 of two parents: each is cut off on its outer side. */
  @Test
  void clippedParts_thatDoNotMeet_areImportedWithTheirRemains() throws IOException {
    try (TestTables tables = new TestTables(directory, Map.of(), Metrics.NONE)) {
      Table low = tables.open(LOW, List.of());
      Table high = tables.open(HIGH, List.of());
      fill(low, LOW, 0, 2_000);
      fill(high, HIGH, 0, 2_000);
      KeyGroupRange wanted = new KeyGroupRange(5, 12);
      List<TablePart> parts =
          List.of(
              tables.part(low.snapshotNow(tables.fresh()), LOW),
              tables.part(high.snapshotNow(tables.fresh()), HIGH));
      Table middle = tables.open(wanted, parts);
      ModelTable expected = new ModelTable();
      expected.addAll(low.scan(new byte[0], 0));
      expected.addAll(high.scan(new byte[0], 0));
      expected.clip(wanted);
      assertThat(lines(middle)).isEqualTo(expected.lines());
    }
  }

  @Test
  void oneParentTwice_compacted_keepsEachHalf() throws Exception {
    checkHalves(TableImport.Overlap.COMPACT);
  }

  @Test
  void oneParentTwice_rewritten_keepsEachHalf() throws Exception {
    checkHalves(TableImport.Overlap.REWRITE);
  }

  /** Both parts have the same files, of which every one holds keys of both halves. */
  private void checkHalves(TableImport.Overlap overlap) throws Exception {
    try (TestTables tables = new TestTables(directory, Map.of(), Metrics.NONE)) {
      Table parent = tables.open();
      fill(parent, ALL, 0, 3_000);
      TableSnapshot snapshot = parent.snapshotNow(tables.fresh());
      List<TablePart> parts = List.of(tables.part(snapshot, LOW), tables.part(snapshot, HIGH));

      Path target = Files.createDirectories(tables.fresh());
      Natives natives = tables.tables.natives().sibling();
      Database united =
          new TableImport(tables.tables.settings(), tables.fresh(), overlap)
              .open(parts, target, natives);
      ModelTable read = new ModelTable();
      read.addAll(
          new RocksDbScan(
              united, natives.sibling(), KeyBounds.FIRST, KeyBounds.LAST, closed -> {}));
      natives.close();
      assertThat(read.lines()).isEqualTo(lines(parent)).hasSize(3_000);
    }
  }

  @Test
  void emptyParts_giveAnEmptyTableThatWorks() {
    try (TestTables tables = new TestTables(directory)) {
      Table low = tables.open(LOW, List.of());
      Table high = tables.open(HIGH, List.of());
      fill(high, HIGH, 0, 10);
      TableSnapshot highSnapshot = high.snapshotNow(tables.fresh());
      TableSnapshot lowSnapshot = low.snapshotNow(tables.fresh());
      Table oneEmpty =
          tables.open(ALL, List.of(tables.part(lowSnapshot, LOW), tables.part(highSnapshot, HIGH)));
      assertThat(lines(oneEmpty)).isEqualTo(lines(high));

      Table highToo = tables.open(HIGH, List.of());
      TableSnapshot empty = highToo.snapshotNow(tables.fresh());
      Table bothEmpty =
          tables.open(ALL, List.of(tables.part(lowSnapshot, LOW), tables.part(empty, HIGH)));
      assertThat(lines(bothEmpty)).isEmpty();
      fill(bothEmpty, ALL, 0, 10);
      Table again =
          tables.open(ALL, List.of(tables.part(bothEmpty.snapshotNow(tables.fresh()), ALL)));
      assertThat(lines(again)).hasSize(10);
    }
  }

  @Test
  void restore_leavesNothingBesideTheDatabase() throws IOException {
    try (TestTables tables = new TestTables(directory)) {
      Table low = tables.open(LOW, List.of());
      Table high = tables.open(HIGH, List.of());
      fill(low, LOW, 0, 100);
      fill(high, HIGH, 0, 100);
      List<TablePart> parts =
          List.of(
              tables.part(low.snapshotNow(tables.fresh()), LOW),
              tables.part(high.snapshotNow(tables.fresh()), HIGH));
      tables.open(ALL, parts);
      try (var entries = Files.list(tables.last())) {
        assertThat(entries.map(path -> path.getFileName().toString())).containsExactly("db");
      }
    }
  }
}
