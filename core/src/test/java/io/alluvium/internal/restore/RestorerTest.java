package io.alluvium.internal.restore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointHandle.Part;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.execution.ThreadedExecution;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Execution;
import io.alluvium.spi.LocalTableFiles;
import io.alluvium.spi.Materialization;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Operation;
import io.alluvium.spi.TableFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class RestorerTest {

  private static final KeyGroupRange GROUPS = new KeyGroupRange(0, 4);
  private static final SerializerSnapshot KEY = new SerializerSnapshot("int", 1, new byte[0]);
  private static final int RANGE_BYTES = 100;
  private static final int ROWS = 200;

  @TempDir private Path directory;
  private final Execution execution = new ThreadedExecution(new ThreadedExecution.Sizes(1, 3, 1));
  private final FaultyStore store = new FaultyStore();
  private final FakeLog log = new FakeLog(execution);
  private final ModelTables tables = new ModelTables();
  private final ReplaySpeed speed = new ReplaySpeed();
  private final ModelTable written = new ModelTable();

  @AfterEach
  void close() {
    execution.close();
  }

  private Restorer restorer(long memoryBytes) {
    return new Restorer(
        tables,
        format -> {
          throw StateBackendException.incompatible("no tables of format '" + format + "'");
        },
        new Restorer.Components(store, log, execution, Metrics.NONE, speed),
        new Restorer.Settings(memoryBytes, 2, RANGE_BYTES));
  }

  private Restored restore(CheckpointHandle handle) {
    return restore(handle, Optional.empty());
  }

  private Restored restore(CheckpointHandle handle, Optional<LocalTableFiles> cache) {
    Path own = directory.resolve("restored");
    return restorer(1 << 10).restore(List.of(handle), GROUPS, GROUPS.size(), own, cache);
  }

  /** Rows spread over the key groups, also written into {@link #written}. */
  private ModelTable rows(int from, int to) {
    ModelTable rows = new ModelTable();
    for (int i = from; i < to; i++) {
      byte[] key = {0, (byte) (i % 4), 1, (byte) (i >> 8), (byte) i};
      rows.apply(Operation.PUT, key, new byte[] {(byte) i});
      written.apply(Operation.PUT, key, new byte[] {(byte) i});
    }
    return rows;
  }

  private TableFile file(String name, int from, int to) {
    return store.store(name, ModelTables.file(rows(from, to)), true);
  }

  private CheckpointHandle handle(List<TableFile> files, List<BlockRef> tail, long end) {
    Materialization materialization = new Materialization(ModelTables.FORMAT, 0, 0, files);
    Part part = new Part(GROUPS, Optional.of(materialization), List.of());
    return new CheckpointHandle(3, GROUPS, 4, end, List.of(part), tail, KEY, List.of());
  }

  /** Blocks of ten changes each over the first rows. */
  private List<BlockRef> blocks(int count) {
    List<BlockRef> blocks = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      List<Change> changes = new ArrayList<>();
      for (int j = 0; j < 10; j++) {
        long sqn = 10L * i + j;
        byte[] key = {0, (byte) (sqn % 4), 1, 0, (byte) (sqn % 90)};
        Change change = new Change(sqn, Operation.PUT, key, new byte[] {(byte) sqn, 1});
        changes.add(change);
        written.apply(change);
      }
      blocks.add(log.store(changes));
    }
    return blocks;
  }

  private void assertRestored(Restored restored) throws IOException {
    assertThat(((ModelTable) restored.table()).holdsTheSameAs(written)).isTrue();
    try (Stream<Path> entries = Files.list(directory.resolve("restored"))) {
      assertThat(entries).containsExactly(restored.directory());
    }
  }

  private void assertNothingLeft() throws IOException {
    try (Stream<Path> files = Files.walk(directory.resolve("restored"))) {
      assertThat(files.filter(Files::isRegularFile)).isEmpty();
    }
    assertThat(tables.opened()).allMatch(ModelTable::isClosed);
  }

  private void assertFails(Kind kind, CheckpointHandle handle, String... parts) throws IOException {
    assertThatThrownBy(() -> restore(handle))
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).as("%s", e).isEqualTo(kind))
        .hasMessageContainingAll(parts);
    assertNothingLeft();
  }

  @Test
  void restore_nothing_isAnEmptyTable() throws IOException {
    Restored restored =
        restorer(1 << 10)
            .restore(List.of(), GROUPS, 4, directory.resolve("restored"), Optional.empty());
    assertRestored(restored);
    assertThat(restored.report().changesReplayed()).isZero();
    assertThat(restored.knownFiles()).isEmpty();
  }

  @Test
  void restore_filesAndChangelog_reportsWhatItDid() throws IOException {
    TableFile first = file("1.sst", 0, 100);
    TableFile second = file("2.sst", 100, ROWS);
    List<BlockRef> tail = blocks(50);
    Restored restored = restore(handle(List.of(first, second), tail, 500));
    assertRestored(restored);
    assertThat(restored.knownFiles()).containsExactly(first, second);
    assertThat(restored.plan().startSqn()).isEqualTo(500);
    assertThat(restored.report().filesDownloaded()).isEqualTo(2);
    assertThat(restored.report().filesLinked()).isZero();
    assertThat(restored.report().blocksRead()).isEqualTo(50);
    assertThat(restored.report().changesReplayed()).isEqualTo(500);
    long stored = tail.stream().mapToLong(BlockRef::length).sum();
    assertThat(restored.report().bytesDownloaded())
        .isEqualTo(first.sizeBytes() + second.sizeBytes() + stored);
  }

  @Test
  void restore_slowBatch_isNotOvertakenByTheNext() throws IOException {
    AtomicInteger batches = new AtomicInteger();
    tables.beforeApply(
        () -> {
          if (batches.getAndIncrement() == 0) {
            sleep(200);
          }
        });
    assertRestored(restore(handle(List.of(), blocks(50), 500)));
    assertThat(batches.get()).isGreaterThan(4);
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void restore_largeFile_isFetchedInRanges() throws IOException {
    TableFile file = file("1.sst", 0, ROWS);
    assertRestored(restore(handle(List.of(file), List.of(), 0)));
    assertThat(store.opened())
        .isEqualTo((int) ((file.sizeBytes() + RANGE_BYTES - 1) / RANGE_BYTES));
  }

  @Test
  void restore_changelog_isFetchedWhileFilesDownload() throws IOException {
    CountDownLatch blockRead = new CountDownLatch(1);
    log.beforeRead(blockRead::countDown);
    TableFile file = store.store("1.sst", ModelTables.file(rows(0, 5)), true);
    store.beforeOpen(() -> await(blockRead));
    assertRestored(restore(handle(List.of(file), blocks(5), 50)));
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(1, TimeUnit.MINUTES)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void restore_storageThatAnswersLater_succeeds() throws IOException {
    CheckpointHandle handle = handle(List.of(file("1.sst", 0, 20)), blocks(2), 20);
    store.failReads(2);
    log.failReads(2);
    assertRestored(restore(handle));
  }

  @Test
  void restore_storageThatDoesNotAnswer_isUnavailable() throws IOException {
    CheckpointHandle handle = handle(List.of(file("1.sst", 0, ROWS)), blocks(2), 20);
    store.failReads(Integer.MAX_VALUE);
    assertFails(Kind.UNAVAILABLE, handle, "the store does not answer");
  }

  @Test
  void restore_changelogThatDoesNotAnswer_isUnavailable() throws IOException {
    CheckpointHandle handle = handle(List.of(file("1.sst", 0, ROWS)), blocks(9), 90);
    log.failReads(Integer.MAX_VALUE);
    assertFails(Kind.UNAVAILABLE, handle, "the log does not answer");
    assertThat(tables.opened()).hasSize(1);
  }

  @Test
  void restore_flippedBit_isCorrupt() throws IOException {
    TableFile file = file("1.sst", 0, ROWS);
    byte[] content = store.read(file.blob().toString(), 0, (int) file.sizeBytes());
    content[content.length / 2] ^= 4;
    store.damage(file, content);
    assertFails(
        Kind.CORRUPT,
        handle(List.of(file), List.of(), 0),
        file.blob().toString(),
        "expected CRC32C " + Integer.toHexString(file.crc32c()),
        "found " + Integer.toHexString(FaultyStore.crc32c(content)));
  }

  @Test
  void restore_truncatedFile_isCorrupt() throws IOException {
    TableFile file = file("1.sst", 0, ROWS);
    store.damage(file, store.read(file.blob().toString(), 0, 150));
    assertFails(
        Kind.CORRUPT, handle(List.of(file), List.of(), 0), file.blob().toString(), "offset 150");
  }

  @Test
  void restore_missingFile_isCorrupt() throws IOException {
    TableFile file = file("1.sst", 0, ROWS);
    store.delete(List.of(file.blob().toString()));
    assertFails(Kind.CORRUPT, handle(List.of(file), List.of(), 0), file.blob().toString());
  }

  @Test
  void restore_oneDamagedFileOfMany_isNamed() throws IOException {
    List<TableFile> files = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      files.add(file(i + ".sst", 2 * i, 2 * i + 2));
    }
    TableFile damaged = files.get(20);
    store.damage(damaged, new byte[(int) damaged.sizeBytes()]);
    // The first files are tried again later, and given up then because of the damage.
    store.failReads(3);
    assertFails(Kind.CORRUPT, handle(files, blocks(5), 50), damaged.blob().toString());
  }

  @Test
  void restore_fileNameThatLeavesItsDirectory_isCorrupt() throws IOException {
    assertFails(Kind.CORRUPT, handle(List.of(file("../1.sst", 0, 9)), List.of(), 0), "'../1.sst'");
  }

  @Test
  void restore_localCopies_areLinkedNotDownloaded() throws IOException {
    CheckpointHandle handle =
        handle(List.of(file("1.sst", 0, 100), file("2.sst", 100, ROWS)), List.of(), 0);
    LocalFileCache cache = new LocalFileCache(directory.resolve("cache"));
    restore(handle, Optional.of(cache));
    Files.delete(directory.resolve("restored/table"));
    int opened = store.opened();
    Restored again = restore(handle, Optional.of(cache));
    assertRestored(again);
    assertThat(store.opened()).isEqualTo(opened);
    assertThat(again.report().filesLinked()).isEqualTo(2);
    assertThat(again.report().filesDownloaded()).isZero();
  }

  @Test
  void restore_localCopyOfAMissingBlob_isCorrupt() throws IOException {
    TableFile file = file("1.sst", 0, 100);
    CheckpointHandle handle = handle(List.of(file), List.of(), 0);
    LocalFileCache cache = new LocalFileCache(directory.resolve("cache"));
    restore(handle, Optional.of(cache)).table().close();
    Files.delete(directory.resolve("restored/table"));
    store.delete(List.of(file.blob().toString()));
    assertThatThrownBy(() -> restore(handle, Optional.of(cache)))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContainingAll(file.blob().toString(), "no such blob");
    assertNothingLeft();
  }

  @Test
  void restore_damagedLocalCopy_isDownloaded() throws IOException {
    TableFile file = file("1.sst", 0, 100);
    CheckpointHandle handle = handle(List.of(file), List.of(), 0);
    LocalFileCache cache = new LocalFileCache(directory.resolve("cache"));
    Path local = Files.write(directory.resolve("local"), new byte[(int) file.sizeBytes()]);
    cache.add(local, file);
    Restored restored = restore(handle, Optional.of(cache));
    assertRestored(restored);
    assertThat(restored.report().filesDownloaded()).isEqualTo(1);
    assertThat(cache.lookup(file)).isPresent();
  }

  @Test
  void restore_ofAnUnknownFormat_isIncompatible() throws IOException {
    Materialization foreign = new Materialization("other 3", 0, 0, List.of(file("1.sst", 0, 9)));
    Part part = new Part(GROUPS, Optional.of(foreign), List.of());
    assertFails(
        Kind.INCOMPATIBLE,
        new CheckpointHandle(3, GROUPS, 4, 0, List.of(part), List.of(), KEY, List.of()),
        "'other 3'");
  }

  @Test
  void restore_longChangelog_keepsWithinItsMemory() throws IOException {
    List<BlockRef> tail = blocks(200);
    long blockBytes = tail.get(0).length();
    long memoryBytes = 12 * blockBytes;
    AtomicInteger ahead = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    log.beforeRead(
        () -> {
          int applied = tables.opened().isEmpty() ? 0 : tables.opened().get(0).applied() / 10;
          ahead.set(log.reads().size() - applied);
          most.accumulateAndGet(ahead.get(), Math::max);
        });
    CheckpointHandle handle = handle(List.of(file("1.sst", 0, 1)), tail, 2_000);
    Restored restored =
        restorer(memoryBytes)
            .restore(List.of(handle), GROUPS, 4, directory.resolve("restored"), Optional.empty());
    assertThat(restored.report().changesReplayed()).isEqualTo(2_000);
    assertThat(most.get()).isBetween(5, 14);
    List<Long> ascending = log.reads().stream().sorted().toList();
    assertThat(log.reads()).isEqualTo(ascending);
  }

  @Test
  void restore_tableThatRefuses_failsAndIsClosedAfterTheLastTask() throws IOException {
    CheckpointHandle handle = handle(List.of(), blocks(40), 400);
    tables.failApply("disk full");
    assertFails(Kind.UNAVAILABLE, handle, "disk full");
    assertThat(tables.opened()).hasSize(1);
  }

  @Test
  void restore_interrupted_leavesNothingRunning() throws IOException {
    CheckpointHandle handle = handle(List.of(file("1.sst", 0, ROWS)), blocks(40), 400);
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> restore(handle)).isInstanceOf(StateBackendException.class);
    assertThat(Thread.interrupted()).isTrue();
    assertNothingLeft();
  }

  @Test
  void measured_replays_moveTheEstimate() {
    double before = speed.bytesPerSecond();
    speed.measured(10_000_000, 1_000_000_000, Duration.ofSeconds(4));
    assertThat(speed.bytesPerSecond()).isGreaterThan(5 * before);
    assertThat(speed.changesPerSecond()).isBetween(1_000_000.0, 2_500_000.0);
    assertThat(speed.estimate((long) (speed.bytesPerSecond() * 10)))
        .isBetween(Duration.ofMillis(9_900), Duration.ofMillis(10_100));
  }
}
