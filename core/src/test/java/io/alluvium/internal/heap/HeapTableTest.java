package io.alluvium.internal.heap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.sun.management.ThreadMXBean;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableScan;
import io.alluvium.spi.TableSnapshot;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class HeapTableTest {

  private static final Path OPEN_FILES = Path.of("/proc/self/fd");
  private static final KeyGroupRange ALL = new KeyGroupRange(0, 4);

  @TempDir Path directory;
  private final QueuedExecution execution = new QueuedExecution();
  private final HeapTables tables = new HeapTables(execution);
  private final Table table = open(List.of());
  private final Model model = new Model(table);

  private Table open(List<TablePart> parts) {
    return tables.open(
        Path.of("unused"),
        ALL,
        parts,
        part -> {
          throw new AssertionError(part);
        });
  }

  private static byte[] number(int number) {
    return ByteBuffer.allocate(4).putInt(number).array();
  }

  private static byte[] bytes(Random random, int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  /** An open scan and its expected entries. */
  private record Held(TableScan scan, List<String> expected) {}

  /**
   * Many rows and huge rows, so that hash tables grow and shrink and blocks split and merge. Scans
   * stay open during changes.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void scan_changesWhileOpen_equalsTheModel(long seed) {
    Random random = new Random(seed);
    ArrayDeque<Held> held = new ArrayDeque<>();
    for (int i = 0; i < 12_000; i++) {
      change(random, i);
      if (random.nextInt(150) == 0) {
        byte[] prefix = prefix(random);
        held.add(new Held(table.scan(prefix, prefix.length), model.lines(prefix)));
      }
      if (held.size() > 3 || (!held.isEmpty() && random.nextInt(500) == 0)) {
        Held oldest = held.remove();
        assertThat(Model.lines(oldest.scan)).isEqualTo(oldest.expected);
      }
    }
    held.forEach(each -> assertThat(Model.lines(each.scan)).isEqualTo(each.expected));
    assertThat(Model.lines(table.scan(new byte[0], 0))).isEqualTo(model.lines(new byte[0]));
    ByteWriter into = new ByteWriter();
    model.entries.forEach(
        (key, value) -> {
          assertThat(table.get(key, key.length, into)).isTrue();
          assertThat(into.toByteArray()).isEqualTo(value);
        });
  }

  private void change(Random random, int step) {
    int keyGroup = random.nextInt(2);
    // Every other 3 000 steps mostly delete rows.
    boolean shrinking = step / 3_000 % 2 == 1;
    int dice = random.nextInt(100);
    byte[] value = Model.key(keyGroup, 1, "k" + random.nextInt(2_000), new byte[0]);
    byte[] list = Model.key(keyGroup, 2, "k" + random.nextInt(5), new byte[0]);
    byte[] entry = Model.key(keyGroup, 300, "k" + random.nextInt(2), number(random.nextInt(1_000)));
    if (dice < 35) {
      if (shrinking) {
        model.delete(value);
      } else {
        model.put(value, bytes(random, random.nextInt(3) * 4));
      }
    } else if (dice < 55) {
      model.merge(list, bytes(random, random.nextInt(100)));
    } else if (dice == 55) {
      model.put(list, bytes(random, 10));
    } else if (dice == 56) {
      model.delete(list);
    } else if (dice < 97) {
      if (shrinking) {
        model.delete(entry);
      } else {
        model.put(entry, bytes(random, random.nextInt(2) * 8));
      }
    } else if (dice < 98) {
      model.merge(entry, bytes(random, 5));
    } else if (random.nextInt(20) == 0) {
      model.deleteRange(prefix(random));
    }
  }

  private static byte[] prefix(Random random) {
    byte[] key =
        switch (random.nextInt(3)) {
          case 0 -> Model.key(random.nextInt(2), 1, "k" + random.nextInt(2_000), new byte[0]);
          case 1 -> Model.key(random.nextInt(2), 300, "k" + random.nextInt(2), new byte[0]);
          default ->
              Model.key(
                  random.nextInt(2), 300, "k" + random.nextInt(2), number(random.nextInt(1_000)));
        };
    return Arrays.copyOf(key, key.length - random.nextInt(3));
  }

  @Test
  void delete_firstOfAscendingTimers_keepsTheOrder() {
    for (int i = 0; i < 20_000; i++) {
      model.put(Model.key(0, 7, "", number(i)), new byte[0]);
      if (i % 3 == 0) {
        model.put(Model.key(0, 7, "", number(50_000 - i)), new byte[0]);
      }
    }
    byte[] row = Model.key(0, 7, "", new byte[0]);
    for (int i = 0; i < 26_000; i++) {
      byte[] first = model.entries.firstKey();
      if (i % 1_000 == 0) {
        try (TableScan scan = table.scan(row, row.length)) {
          assertThat(scan.next()).isTrue();
          assertThat(Arrays.copyOf(scan.key(), scan.keyLength())).isEqualTo(first);
        }
      }
      model.delete(first);
    }
    assertThat(Model.lines(table.scan(row, row.length))).isEqualTo(model.lines(row));
  }

  @Test
  void merge_manyAppends_allocatesInProportionToTheList() {
    byte[] key = Model.key(1, 1, "k", new byte[0]);
    byte[] operand = new byte[100];
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < 100_000; i++) {
      table.merge(key, key.length, operand, operand.length);
    }
    // Ten megabytes; growing by half each time allocates three times that in total.
    assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(60_000_000);
  }

  @Test
  void putAndGet_valueOfTheSameSize_allocateNothing() {
    byte[][] keys = new byte[500][];
    ByteWriter into = new ByteWriter();
    for (int i = 0; i < keys.length; i++) {
      keys[i] = Model.key(i % 4, 1, "key-" + i, new byte[0]);
      table.put(keys[i], keys[i].length, number(i), 4);
    }
    byte[] value = number(77);
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    int found = 0;
    for (int round = 0; round < 20; round++) {
      for (byte[] key : keys) {
        found += table.get(key, key.length, into) ? 1 : 0;
        table.put(key, key.length, value, 4);
      }
    }
    assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(10_000);
    assertThat(found).isEqualTo(20 * keys.length);
  }

  @Test
  void put_outsideItsKeyGroups_isInternal() {
    byte[] key = Model.key(9, 1, "k", new byte[0]);
    assertThatThrownBy(() -> table.put(key, key.length, key, 1))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContaining("key group 9");
    assertThat(Model.lines(table.scan(key, key.length))).isEmpty();
  }

  private void fill(int rows) {
    for (int i = 0; i < rows; i++) {
      model.put(Model.key(i % 4, 1 + i % 3, "k" + i, new byte[0]), number(i));
    }
  }

  private List<String> reopened(TableSnapshot snapshot) {
    Table again = open(List.of(new TablePart(HeapCellsFormat.NAME, snapshot.directory(), ALL)));
    return Model.lines(again.scan(new byte[0], 0));
  }

  @Test
  void snapshot_boundOfPinnedRows_isKeptUntilRowsAreWritten() {
    fill(300_000);
    CompletableFuture<TableSnapshot> snapshot = table.snapshot(directory.resolve("snapshot"));
    assertThat(execution.tasks).as("a snapshot begins with advance()").isEmpty();
    for (int i = 0; i < 100; i++) {
      table.advance();
    }
    assertThat(execution.tasks).hasSize(1);
    execution.runAll();
    // 12 partitions of 25 000 rows each exceed the bound of pinned rows.
    assertThat(snapshot).isNotDone();
    int rounds = 1;
    for (; !snapshot.isDone(); rounds++) {
      table.advance();
      execution.runAll();
    }
    assertThat(rounds).isBetween(3, 6);
    assertThat(reopened(snapshot.join())).isEqualTo(model.lines(new byte[0]));
  }

  @Test
  void snapshot_writesAfterPinning_areNotInTheFile() {
    fill(1_000);
    byte[] list = Model.key(3, 99, "list", new byte[0]);
    byte[] map = Model.key(3, 100, "map", new byte[0]);
    for (int i = 0; i < 300; i++) {
      model.merge(list, number(i));
      model.put(Model.key(3, 100, "map", number(i)), number(i));
    }
    List<String> before = model.lines(new byte[0]);
    CompletableFuture<TableSnapshot> snapshot = table.snapshot(directory.resolve("snapshot"));
    table.advance();
    for (int i = 0; i < 1_000; i++) {
      model.put(Model.key(i % 4, 1 + i % 3, "k" + i, new byte[0]), number(-i));
      model.delete(Model.key(i % 4, 1 + i % 3, "k" + (i + 1), new byte[0]));
      model.merge(list, number(i));
      model.put(Model.key(3, 100, "map", number(i)), number(-i));
    }
    model.deleteRange(Arrays.copyOf(map, 3));
    execution.runAll();
    assertThat(reopened(snapshot.join())).isEqualTo(before);
    // All pins are released: rows are changed in place again.
    CompletableFuture<TableSnapshot> next = table.snapshot(directory.resolve("next"));
    table.advance();
    execution.runAll();
    assertThat(reopened(next.join())).isEqualTo(model.lines(new byte[0]));
  }

  @Test
  void snapshot_directoryNotWritable_failsAndTheNextSucceeds() throws IOException {
    fill(1_000);
    Path occupied = Files.createFile(directory.resolve("occupied"));
    CompletableFuture<TableSnapshot> snapshot = table.snapshot(occupied.resolve("snapshot"));
    table.advance();
    execution.runAll();
    assertThatThrownBy(snapshot::join)
        .hasCauseInstanceOf(StateBackendException.class)
        .hasMessageContaining("cannot write the table file of a snapshot")
        .cause()
        .satisfies(
            e ->
                assertThat(((StateBackendException) e).kind())
                    .isEqualTo(StateBackendException.Kind.UNAVAILABLE));
    fill(2_000);
    table.advance();
    CompletableFuture<TableSnapshot> next = table.snapshot(directory.resolve("next"));
    table.advance();
    execution.runAll();
    assertThat(reopened(next.join())).isEqualTo(model.lines(new byte[0]));
    assertThatThrownBy(() -> table.snapshotNow(occupied.resolve("snapshot")))
        .isInstanceOf(StateBackendException.class);
  }

  /** A snapshot that never completes would block all later ones, and the changelog would grow. */
  @Test
  void snapshot_errorWhileWriting_failsAndTheNextSucceeds() {
    fill(1_000);
    Path broken =
        (Path)
            Proxy.newProxyInstance(
                Path.class.getClassLoader(),
                new Class<?>[] {Path.class},
                (proxy, method, arguments) -> {
                  throw new OutOfMemoryError("test");
                });
    CompletableFuture<TableSnapshot> snapshot = table.snapshot(broken);
    table.advance();
    execution.runAll();
    assertThatThrownBy(snapshot::join).hasCauseInstanceOf(OutOfMemoryError.class);
    CompletableFuture<TableSnapshot> next = table.snapshot(directory.resolve("next"));
    table.advance();
    execution.runAll();
    assertThat(reopened(next.join())).isEqualTo(model.lines(new byte[0]));
  }

  @Test
  void snapshot_noThreadCanBeStarted_failsAndTheNextSucceeds() {
    fill(1_000);
    execution.failure = new OutOfMemoryError("unable to create native thread");
    CompletableFuture<TableSnapshot> snapshot = table.snapshot(directory.resolve("snapshot"));
    table.advance();
    assertThatThrownBy(snapshot::join).hasCauseInstanceOf(StateBackendException.class);
    execution.failure = null;
    table.advance();
    CompletableFuture<TableSnapshot> next = table.snapshot(directory.resolve("next"));
    table.advance();
    execution.runAll();
    assertThat(reopened(next.join())).isEqualTo(model.lines(new byte[0]));
  }

  @Test
  void close_pausedSnapshot_closesItsFile() throws IOException {
    assumeThat(OPEN_FILES).as("the directory that lists open files").isDirectory();
    fill(300_000);
    CompletableFuture<TableSnapshot> snapshot = table.snapshot(directory.resolve("snapshot"));
    table.advance();
    execution.runAll();
    assertThat(snapshot).isNotDone();
    assertThat(openFilesOf(directory)).isNotEmpty();
    table.close();
    assertThat(snapshot).isCompletedExceptionally();
    assertThat(openFilesOf(directory)).isEmpty();
  }

  private static List<String> openFilesOf(Path directory) throws IOException {
    List<String> open = new ArrayList<>();
    try (DirectoryStream<Path> links = Files.newDirectoryStream(OPEN_FILES)) {
      for (Path link : links) {
        try {
          open.add(Files.readSymbolicLink(link).toString());
        } catch (NoSuchFileException e) {
          // The descriptor of the directory that is being read.
        }
      }
    }
    open.removeIf(file -> !file.startsWith(directory.toString()));
    return open;
  }

  @Test
  void snapshot_whileOneRuns_isRefused() {
    CompletableFuture<TableSnapshot> first = table.snapshot(directory.resolve("a"));
    assertThat(table.snapshot(directory.resolve("b"))).isCompletedExceptionally();
    assertThat(first).isNotDone();
  }

  @Test
  void close_partitionsPinnedButNotWritten_failsTheSnapshot() {
    fill(1_000);
    CompletableFuture<TableSnapshot> snapshot = table.snapshot(directory.resolve("a"));
    table.advance();
    table.close();
    assertThat(snapshot).isCompletedExceptionally();
    execution.runAll();
    assertThat(directory.resolve("a")).doesNotExist();
  }
}
