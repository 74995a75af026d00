package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.rocksdb.DbSettings.Compaction;
import io.alluvium.spi.Operation;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableSnapshot;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.table.Change;
import io.alluvium.testkit.table.CoalescedChanges;
import io.alluvium.testkit.table.ModelTable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.CompactRangeOptions.BottommostLevelCompaction;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.StringAppendOperator;
import org.rocksdb.WriteOptions;

/**
 * Earlier versions wrote lists with RocksDB's {@code StringAppendOperator}. Their files stay
 * readable, and they can read ours.
 */
final class OldListsTest {

  private static final KeyGroupRange ALL = TestTables.ALL;
  private static final KeyGroupRange LOW = new KeyGroupRange(0, 8);
  private static final KeyGroupRange HIGH = new KeyGroupRange(8, 16);
  private static final int KEYS = 12;

  @TempDir Path directory;

  static Stream<Long> seeds() {
    return Seeds.of(4);
  }

  /** The versions take turns on the same files, and each appends to what the other one wrote. */
  @ParameterizedTest
  @MethodSource("seeds")
  void versions_inTurns_readAndContinueEachOthersLists(long seed) throws Exception {
    Random random = new Random(seed);
    ModelTable model = new ModelTable();
    try (TestTables tables = new TestTables(directory)) {
      Path files = Files.createDirectories(tables.fresh());
      for (int turn = 0; turn < 12; turn++) {
        try (Version version = random.nextBoolean() ? new Old(files) : new Current(files, tables)) {
          String what = "turn " + turn + ", " + version.getClass().getSimpleName();
          assertThat(version.lines()).as(what + " reads").isEqualTo(model.lines());
          for (int round = 0; round < 3; round++) {
            for (Change change : changes(random, ALL)) {
              version.apply(change);
              model.apply(change);
            }
            version.flush();
            if (random.nextInt(4) == 0) {
              version.compact();
            }
            assertThat(version.lines()).as(what + " wrote").isEqualTo(model.lines());
          }
        }
      }
    }
  }

  /** A rescale imports old files side by side; then few and many changes go on top of them. */
  @ParameterizedTest
  @MethodSource("seeds")
  void oldParts_importedAndChanged_keepTheirLists(long seed) throws Exception {
    Random random = new Random(seed);
    ModelTable model = new ModelTable();
    try (TestTables tables = new TestTables(directory)) {
      List<TablePart> parts = new ArrayList<>();
      for (KeyGroupRange half : List.of(LOW, HIGH)) {
        Path files = Files.createDirectories(tables.fresh());
        try (Version old = new Old(files)) {
          for (int round = 0; round < 3; round++) {
            for (Change change : changes(random, half)) {
              old.apply(change);
              model.apply(change);
            }
            old.flush();
          }
        }
        parts.add(new TablePart(RocksDbTableProvider.FORMAT, files, half));
      }
      Table table = tables.open(ALL, parts);
      assertThat(lines(table)).as("imported").isEqualTo(model.lines());

      List<Change> few = changes(random, ALL);
      List<Change> many = changes(random, ALL);
      byte[] large = new byte[(int) BulkApply.INGEST_FROM_BYTES];
      many.add(new Change(0, Operation.MERGE, key(ALL, 0), large));
      for (List<Change> changes : List.of(few, many)) {
        changes.forEach(model::apply);
        table.apply(new CoalescedChanges(changes));
        assertThat(lines(table)).as("applied").isEqualTo(model.lines());
      }
      TableSnapshot snapshot = table.snapshotNow(tables.fresh());
      try (Version old = new Old(tables.part(snapshot, ALL).directory())) {
        assertThat(old.lines()).as("snapshot, read by the old version").isEqualTo(model.lines());
        old.compact();
        assertThat(old.lines()).as("compacted by the old version").isEqualTo(model.lines());
      }
    }
  }

  private static List<Change> changes(Random random, KeyGroupRange keyGroups) {
    List<Change> changes = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      byte[] value = new byte[random.nextInt(40)];
      random.nextBytes(value);
      int kind = random.nextInt(20);
      Operation operation =
          kind == 0 ? Operation.DELETE : kind < 3 ? Operation.PUT : Operation.MERGE;
      byte[] key = key(keyGroups, random.nextInt(KEYS));
      changes.add(
          new Change(i, operation, key, operation == Operation.DELETE ? new byte[0] : value));
    }
    return changes;
  }

  private static byte[] key(KeyGroupRange keyGroups, int number) {
    return TestTables.key(keyGroups.from() + number % keyGroups.size(), 1, "list" + number);
  }

  private static List<String> lines(Table table) {
    ModelTable model = new ModelTable();
    model.addAll(table.scan(new byte[0], 0));
    return model.lines();
  }

  /** A database opened as one of the versions does; reads both ways, by key and by scan. */
  private abstract static class Version implements AutoCloseable {

    private final WriteOptions writeOptions = new WriteOptions().setDisableWAL(true);

    abstract RocksDB db();

    abstract ColumnFamilyHandle data();

    void apply(Change change) throws RocksDBException {
      switch (change.operation()) {
        case PUT -> db().put(data(), writeOptions, change.key(), change.value());
        case DELETE -> db().delete(data(), writeOptions, change.key());
        case MERGE -> db().merge(data(), writeOptions, change.key(), change.value());
        case DELETE_RANGE -> throw new AssertionError(change);
      }
    }

    void flush() throws RocksDBException {
      try (FlushOptions flush = new FlushOptions().setWaitForFlush(true)) {
        db().flush(flush, data());
      }
    }

    void compact() throws RocksDBException {
      try (CompactRangeOptions options =
          new CompactRangeOptions()
              .setBottommostLevelCompaction(BottommostLevelCompaction.kForce)) {
        db().compactRange(data(), KeyBounds.FIRST, KeyBounds.LAST, options);
      }
    }

    List<String> lines() throws RocksDBException {
      ModelTable model = new ModelTable();
      try (var iterator = db().newIterator(data())) {
        for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
          assertThat(db().get(data(), iterator.key())).isEqualTo(iterator.value());
          model.apply(new Change(0, Operation.PUT, iterator.key(), iterator.value()));
        }
        iterator.status();
      }
      return model.lines();
    }

    @Override
    public void close() throws RocksDBException {
      writeOptions.close();
    }
  }

  private static final class Old extends Version {

    private final StringAppendOperator operator = new StringAppendOperator("");
    private final ColumnFamilyOptions options =
        new ColumnFamilyOptions().setMergeOperator(operator).setDisableAutoCompactions(true);
    private final DBOptions dbOptions =
        new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true);
    private final List<ColumnFamilyHandle> handles = new ArrayList<>();
    private final RocksDB db;

    Old(Path directory) throws RocksDBException {
      List<ColumnFamilyDescriptor> families =
          List.of(
              new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, options),
              new ColumnFamilyDescriptor("data".getBytes(StandardCharsets.UTF_8), options));
      db = RocksDB.open(dbOptions, directory.toString(), families, handles);
    }

    @Override
    RocksDB db() {
      return db;
    }

    @Override
    ColumnFamilyHandle data() {
      return handles.get(1);
    }

    @Override
    public void close() throws RocksDBException {
      super.close();
      handles.forEach(ColumnFamilyHandle::close);
      db.closeE();
      dbOptions.close();
      options.close();
      operator.close();
    }
  }

  private static final class Current extends Version {

    private final Natives natives;
    private final Database database;

    Current(Path directory, TestTables tables) {
      natives = tables.tables.natives().sibling();
      database = Database.open(directory, tables.tables.settings(), natives, Compaction.MANUAL);
    }

    @Override
    RocksDB db() {
      return database.db();
    }

    @Override
    ColumnFamilyHandle data() {
      return database.data();
    }

    @Override
    public void close() throws RocksDBException {
      super.close();
      database.close();
    }
  }
}
