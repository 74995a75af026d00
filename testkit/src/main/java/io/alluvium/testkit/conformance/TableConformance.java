package io.alluvium.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Operation;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableScan;
import io.alluvium.spi.TableSnapshot;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.table.Change;
import io.alluvium.testkit.table.Changes;
import io.alluvium.testkit.table.CoalescedChanges;
import io.alluvium.testkit.table.ModelTable;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Conformance suite of {@link Table}. The test of a provider extends it. */
public abstract class TableConformance extends TableHarness {

  static Stream<Long> seeds() {
    return Seeds.of(12);
  }

  static Stream<Long> fewSeeds() {
    return Seeds.of(4);
  }

  @Test
  void get_missingKey_isFalse() {
    assertThat(get(key("a"))).isNull();
  }

  @Test
  void get_reusedWriter_replacesItsContent() {
    put("a", "01");
    put("b", "020304");
    ByteWriter into = new ByteWriter(1);
    into.writeBytes(new byte[50]);
    byte[] key = key("b");
    assertThat(table.get(key, key.length, into)).isTrue();
    assertThat(into.toByteArray()).containsExactly(2, 3, 4);
    put("b", "05");
    assertThat(get(key)).isEqualTo("05");
  }

  @Test
  void put_emptyValue_isPresent() {
    put("a", "");
    assertThat(get(key("a"))).isEmpty();
    assertThat(table.get(key("a"), key("a").length, new ByteWriter())).isTrue();
    assertThat(dump(table).entries()).hasSize(1);
  }

  @Test
  void put_callerReusesItsArrays_keepsTheValue() {
    byte[] key = key("a");
    byte[] value = {1, 2, 3};
    table.put(key, key.length, value, 3);
    Arrays.fill(value, (byte) 9);
    key[key.length - 1] = 'z';
    assertThat(get(key("a"))).isEqualTo("010203");
    assertThat(get(key)).isNull();
  }

  @Test
  void put_bigValue_isReadable() {
    byte[] big = new byte[1 << 20];
    new Random(5).nextBytes(big);
    byte[] key = key("big");
    table.put(key, key.length, big, big.length);
    ByteWriter into = new ByteWriter();
    assertThat(table.get(key, key.length, into)).isTrue();
    assertThat(into.toByteArray()).isEqualTo(big);
  }

  @Test
  void delete_key_keepsOthers() {
    put("a", "01");
    put("b", "02");
    table.delete(key("a"), key("a").length);
    table.delete(key("none"), key("none").length);
    assertThat(get(key("a"))).isNull();
    assertThat(get(key("b"))).isEqualTo("02");
  }

  @Test
  void merge_operand_isAppended() {
    merge("a", "01");
    merge("a", "");
    merge("a", "0203");
    assertThat(get(key("a"))).isEqualTo("010203");
    put("a", "aa");
    merge("a", "bb");
    assertThat(get(key("a"))).isEqualTo("aabb");
    table.delete(key("a"), key("a").length);
    merge("a", "cc");
    assertThat(get(key("a"))).isEqualTo("cc");
  }

  @Test
  void merge_emptyOperandOnMissingKey_isAnEmptyValue() {
    merge("a", "");
    assertThat(get(key("a"))).isEmpty();
  }

  @Test
  void merge_manyOperands_keepTheirOrder() {
    StringBuilder expected = new StringBuilder();
    for (int i = 0; i < 5_000; i++) {
      String operand = HEX.toHexDigits((short) i);
      merge("a", operand);
      expected.append(operand);
    }
    assertThat(get(key("a"))).isEqualTo(expected.toString());
  }

  @Test
  void deleteRange_prefixEndingInFf_removesOnlyThatRow() {
    byte[] inside = key(1, VALUES, "ffff", "01");
    byte[] before = key(1, VALUES, "fffe", "ff");
    byte[] after = key(1, VALUES + 1, "", "");
    for (byte[] key : List.of(inside, before, after)) {
      table.put(key, key.length, new byte[] {1}, 1);
    }
    byte[] prefix = key(1, VALUES, "ffff", "");
    table.deleteRange(prefix, prefix.length);
    assertThat(get(inside)).isNull();
    assertThat(get(before)).isEqualTo("01");
    assertThat(get(after)).isEqualTo("01");
    table.put(inside, inside.length, new byte[] {2}, 1);
    assertThat(get(inside)).isEqualTo("02");
  }

  @Test
  void scan_manyKeys_isAscendingByUnsignedBytes() {
    List<byte[]> keys =
        List.of(
            key(0, VALUES, "", ""),
            key(0, VALUES, "", "00"),
            key(0, VALUES, "", "7f"),
            key(0, VALUES, "", "80"),
            key(0, VALUES, "", "80ff"),
            key(0, VALUES, "", "ff"),
            key(1, VALUES, "", ""));
    for (int i = keys.size() - 1; i >= 0; i--) {
      table.put(keys.get(i), keys.get(i).length, new byte[] {(byte) i}, 1);
    }
    assertThat(new ArrayList<>(dump(table).entries().values()))
        .usingRecursiveComparison()
        .isEqualTo(List.of(b(0), b(1), b(2), b(3), b(4), b(5), b(6)));
    byte[] prefix = key(0, VALUES, "", "80");
    assertThat(scan(prefix)).containsExactly("80=03", "80ff=04");
    byte[] state = key(0, VALUES, "", "");
    assertThat(scan(Arrays.copyOf(state, 3))).hasSize(6);
    assertThat(scan(new byte[0])).hasSize(7);
    assertThat(scan(key(0, VALUES, "aa", ""))).isEmpty();
  }

  @Test
  void scan_concurrentWrites_areNotVisible() {
    for (int i = 0; i < 50; i++) {
      byte[] key = key(2, VALUES, "", HEX.toHexDigits((byte) (2 * i)));
      table.put(key, key.length, b(i), 1);
    }
    byte[] prefix = key(2, VALUES, "", "");
    List<String> before = scan(prefix);
    List<String> seen = new ArrayList<>();
    try (TableScan scan = table.scan(prefix, prefix.length)) {
      for (int i = 0; scan.next(); i++) {
        seen.add(entry(scan, prefix.length));
        byte[] ahead = key(2, VALUES, "", HEX.toHexDigits((byte) (2 * i + 3)));
        table.put(ahead, ahead.length, b(99), 1);
        byte[] there = key(2, VALUES, "", HEX.toHexDigits((byte) (2 * i + 4)));
        if (i % 3 == 0) {
          table.delete(there, there.length);
        } else {
          table.merge(there, there.length, b(77), 1);
        }
        if (i == 20) {
          table.deleteRange(prefix, prefix.length);
        }
      }
    }
    assertThat(seen).isEqualTo(before);
    assertThat(scan(prefix)).isNotEqualTo(before);
  }

  @Test
  void scanFrom_key_skipsSmallerKeys() {
    for (int i = 0; i < 20; i += 2) {
      byte[] key = key(2, VALUES, "", HEX.toHexDigits((byte) i));
      table.put(key, key.length, b(i), 1);
    }
    byte[] prefix = key(2, VALUES, "", "");
    for (int i = 0; i < 20; i++) {
      byte[] from = key(2, VALUES, "", HEX.toHexDigits((byte) i));
      List<String> expected = new ArrayList<>();
      for (int later = i + i % 2; later < 20; later += 2) {
        String hex = HEX.toHexDigits((byte) later);
        expected.add(hex + "=" + hex);
      }
      List<String> found = new ArrayList<>();
      try (TableScan scan = table.scanFrom(prefix, prefix.length, from, from.length)) {
        while (scan.next()) {
          found.add(entry(scan, prefix.length));
        }
      }
      assertThat(found).isEqualTo(expected);
    }
  }

  @Test
  void scan_twoOpenScans_areIndependent() {
    put("a", "01");
    byte[] prefix = key("");
    try (TableScan first = table.scan(prefix, prefix.length)) {
      put("b", "02");
      try (TableScan second = table.scan(prefix, prefix.length)) {
        assertThat(first.next()).isTrue();
        assertThat(first.next()).isFalse();
        assertThat(second.next()).isTrue();
        assertThat(second.next()).isTrue();
        assertThat(second.next()).isFalse();
      }
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void anyChanges_applied_equalTheModel(long seed) {
    Random random = new Random(seed);
    Changes changes = new Changes(random, ALL, 0);
    ModelTable model = new ModelTable();
    for (int i = 0; i < 1_500; i++) {
      Change change = changes.next();
      change.applyTo(table);
      model.apply(change);
      table.advance();
      assertThat(get(change.key())).isEqualTo(hex(model.entries().get(change.key())));
      if (random.nextInt(100) == 0) {
        byte[] prefix = Arrays.copyOf(change.key(), 2 + random.nextInt(4));
        ModelTable expected = new ModelTable();
        expected.entries().putAll(model.withPrefix(prefix));
        ModelTable scanned = new ModelTable();
        scanned.addAll(table.scan(prefix, prefix.length));
        assertThat(scanned.lines()).isEqualTo(expected.lines());
      }
    }
    assertThat(dump(table).lines()).isEqualTo(model.lines());
  }

  @ParameterizedTest
  @MethodSource("fewSeeds")
  void snapshotNow_opened_equalsTheTable(long seed) {
    Changes changes = new Changes(new Random(seed), ALL, 0);
    ModelTable model = new ModelTable();
    for (int round = 0; round < 3; round++) {
      write(changes, 300, model);
      TableSnapshot snapshot = table.snapshotNow(fresh());
      checkFiles(snapshot);
      assertThat(dump(reopen(snapshot, ALL)).lines()).isEqualTo(model.lines());
    }
  }

  @Test
  void snapshot_emptyTable_isEmpty() {
    TableSnapshot snapshot = table.snapshotNow(fresh());
    assertThat(dump(reopen(snapshot, ALL)).entries()).isEmpty();
    assertThat(dump(reopen(snapshotWhile(() -> {}), ALL)).entries()).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void snapshot_duringWritesThenReplay_equalsTheTable(long seed) {
    Random random = new Random(seed);
    Changes changes = new Changes(random, ALL, 0);
    ModelTable model = new ModelTable();
    List<Change> log = new ArrayList<>();
    for (int round = 0; round < 3; round++) {
      log.addAll(write(changes, random.nextInt(400), model));
      int position = log.size();
      TableSnapshot snapshot = snapshotWhile(() -> log.addAll(write(changes, 1, model)));
      log.addAll(write(changes, random.nextInt(50), model));
      checkFiles(snapshot);

      // Replay starts with the block that holds the position, and repeats some earlier changes.
      List<Change> suffix = log.subList(Math.max(0, position - random.nextInt(20)), log.size());
      Table opByOp = reopen(snapshot, ALL);
      suffix.forEach(change -> change.applyTo(opByOp));
      assertThat(dump(opByOp).readableLines()).isEqualTo(model.readableLines());

      Table inBulk = reopen(snapshot, ALL);
      inBulk.apply(new CoalescedChanges(suffix));
      assertThat(dump(inBulk).readableLines()).isEqualTo(model.readableLines());
    }
  }

  @Test
  void snapshot_laterWritesAndClose_keepItsFiles() throws IOException {
    Changes changes = new Changes(new Random(3), ALL, 0);
    ModelTable model = new ModelTable();
    write(changes, 500, model);
    TableSnapshot snapshot = table.snapshotNow(fresh());
    Map<String, byte[]> before = contents(snapshot);
    List<String> expected = model.lines();
    for (int i = 0; i < 4; i++) {
      write(changes, 300, model);
      TableSnapshot later = table.snapshotNow(fresh());
      Map<String, byte[]> now = contents(later);
      for (TableSnapshot.File file : snapshot.files()) {
        if (file.immutable() && now.containsKey(file.name())) {
          assertThat(now.get(file.name())).as(file.name()).isEqualTo(before.get(file.name()));
        }
      }
    }
    table.close();
    assertThat(contents(snapshot)).usingRecursiveComparison().isEqualTo(before);
    assertThat(dump(reopen(snapshot, ALL)).lines()).isEqualTo(expected);
  }

  @Test
  void open_clippedPart_dropsOtherKeyGroups() throws IOException {
    ModelTable model = new ModelTable();
    write(new Changes(new Random(4), ALL, 0), 600, model);
    TableSnapshot snapshot = table.snapshotNow(fresh());
    KeyGroupRange middle = new KeyGroupRange(2, 5);
    model.clip(middle);

    Table byPart = open(middle, List.of(part(snapshot, middle)));
    assertThat(everything(byPart).lines()).isEqualTo(model.lines());
    assertThat(dump(byPart).lines()).isEqualTo(model.lines());
    Table byTable = open(middle, List.of(part(snapshot, ALL)));
    assertThat(dump(byTable).lines()).isEqualTo(model.lines());
    assertThat(dump(reopen(byTable.snapshotNow(fresh()), ALL)).lines()).isEqualTo(model.lines());
  }

  @ParameterizedTest
  @MethodSource("fewSeeds")
  void open_severalParts_mergesThem(long seed) throws IOException {
    List<KeyGroupRange> ranges =
        List.of(new KeyGroupRange(0, 3), new KeyGroupRange(3, 6), new KeyGroupRange(6, 8));
    List<TablePart> parts = new ArrayList<>();
    ModelTable expected = new ModelTable();
    Random random = new Random(seed);
    KeyGroupRange wanted = new KeyGroupRange(1, 7);
    for (KeyGroupRange range : ranges) {
      Table parent = open(range, List.of());
      ModelTable model = new ModelTable();
      write(parent, new Changes(random, range, 0), 400, model);
      parts.add(part(parent.snapshotNow(fresh()), range.intersect(wanted)));
      expected.entries().putAll(model.entries());
    }
    expected.clip(wanted);
    Table united = open(wanted, parts);
    assertThat(everything(united).lines()).isEqualTo(expected.lines());

    Changes more = new Changes(random, wanted, 1_000);
    write(united, more, 400, expected);
    assertThat(dump(united).lines()).isEqualTo(expected.lines());
    assertThat(dump(reopen(united.snapshotNow(fresh()), ALL)).lines()).isEqualTo(expected.lines());
  }

  @ParameterizedTest
  @MethodSource("fewSeeds")
  void open_splitAndMerged_equalsTheTable(long seed) throws IOException {
    Random random = new Random(seed);
    ModelTable model = new ModelTable();
    write(new Changes(random, ALL, 0), 500, model);
    TableSnapshot whole = table.snapshotNow(fresh());
    List<TablePart> halves = new ArrayList<>();
    for (KeyGroupRange half : List.of(new KeyGroupRange(0, 4), new KeyGroupRange(4, 8))) {
      Table child = open(half, List.of(part(whole, half)));
      write(child, new Changes(random, half, 500), 200, model);
      halves.add(part(child.snapshotNow(fresh()), half));
    }
    assertThat(dump(open(ALL, halves)).lines()).isEqualTo(model.lines());
  }

  @Test
  void open_foreignPart_isReadInItsFormat() throws IOException {
    ModelTable model = new ModelTable();
    Changes changes = new Changes(new Random(6), ALL, 0);
    for (int i = 0; i < 500; i++) {
      model.apply(changes.next());
    }
    KeyGroupRange lower = new KeyGroupRange(0, 4);
    KeyGroupRange upper = new KeyGroupRange(4, 8);
    ModelTable own = new ModelTable();
    Table parent = open(upper, List.of());
    write(parent, new Changes(new Random(7), upper, 0), 300, own);
    model.clip(lower);

    TablePart foreign = new TablePart("model-1", Files.createDirectory(fresh()), lower);
    List<TablePart> parts = List.of(foreign, part(parent.snapshotNow(fresh()), upper));
    Table mixed = tables.open(fresh(), ALL, parts, asked -> scanOf(asked, foreign, model));
    open.add(mixed);
    model.entries().putAll(own.entries());
    assertThat(dump(mixed).lines()).isEqualTo(model.lines());
  }

  private static TableScan scanOf(TablePart asked, TablePart foreign, ModelTable model) {
    assertThat(asked).isEqualTo(foreign);
    return model.scan();
  }

  @Test
  void read_partOfItsFormat_givesKeyGroupsAscending() throws IOException {
    ModelTable model = new ModelTable();
    write(new Changes(new Random(8), ALL, 0), 500, model);
    KeyGroupRange range = new KeyGroupRange(3, 7);
    TablePart part = part(table.snapshotNow(fresh()), range);
    ModelTable read = new ModelTable();
    read.addAll(tables.read(part));
    model.clip(range);
    assertThat(read.lines()).isEqualTo(model.lines());
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void apply_sortedChanges_equalsSingleOperations(long seed) {
    Random random = new Random(seed);
    ModelTable model = new ModelTable();
    Changes changes = new Changes(random, ALL, 0);
    write(changes, 200, model);
    List<Change> more = new ArrayList<>();
    for (int i = random.nextInt(600); i >= 0; i--) {
      more.add(changes.next());
    }
    more.forEach(model::apply);
    table.apply(new CoalescedChanges(more));
    assertThat(dump(table).lines()).isEqualTo(model.lines());
    write(changes, 200, model);
    assertThat(dump(table).lines()).isEqualTo(model.lines());
    assertThat(dump(reopen(table.snapshotNow(fresh()), ALL)).lines()).isEqualTo(model.lines());
  }

  @Test
  void apply_changesFromTwoThreads_equalsSingleOperations() {
    ModelTable model = new ModelTable();
    List<CompletableFuture<Void>> threads = new ArrayList<>();
    for (KeyGroupRange half : List.of(new KeyGroupRange(0, 4), new KeyGroupRange(4, 8))) {
      List<Change> changes = new ArrayList<>();
      Changes some = new Changes(new Random(half.from()), half, 0);
      for (int i = 0; i < 2_000; i++) {
        changes.add(some.next());
      }
      for (int i = 0; i < 20_000; i++) {
        byte[] key = key(half.from() + i % half.size(), VALUES, HEX.toHexDigits(i), "");
        changes.add(new Change(2_000 + i, Operation.PUT, key, new byte[i % 40]));
      }
      changes.forEach(model::apply);
      CoalescedChanges sorted = new CoalescedChanges(changes);
      threads.add(CompletableFuture.runAsync(() -> table.apply(sorted)));
    }
    threads.forEach(CompletableFuture::join);
    assertThat(dump(table).lines()).isEqualTo(model.lines());
  }

  @Test
  void anyCall_afterClose_throws() {
    put("a", "01");
    byte[] key = key("a");
    TableScan open = table.scan(key, 2);
    table.close();
    table.close();
    Expect.failure(Kind.CLOSED, open::next);
    open.close();
    Expect.failure(Kind.CLOSED, () -> get(key));
    Expect.failure(Kind.CLOSED, () -> put("a", "02"));
    Expect.failure(Kind.CLOSED, () -> table.delete(key, key.length));
    Expect.failure(Kind.CLOSED, () -> table.deleteRange(key, key.length));
    Expect.failure(Kind.CLOSED, () -> merge("a", "02"));
    Expect.failure(Kind.CLOSED, () -> table.scan(key, key.length).close());
    Expect.failure(Kind.CLOSED, () -> execution.await(table.snapshot(fresh())));
    Expect.failure(Kind.CLOSED, () -> table.snapshotNow(fresh()));
    Expect.failure(Kind.CLOSED, () -> table.apply(new CoalescedChanges(List.of())));
  }

  @Test
  void close_runningSnapshot_completesTheSnapshot() {
    write(new Changes(new Random(9), ALL, 0), 2_000, new ModelTable());
    CompletableFuture<TableSnapshot> snapshot = startSnapshot();
    table.close();
    try {
      checkFiles(execution.await(snapshot));
    } catch (StateBackendException e) {
      assertThat(e.kind()).isEqualTo(Kind.CLOSED);
    }
  }
}
