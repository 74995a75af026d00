package io.alluvium.testkit.conformance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.config.Configuration;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Execution;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableProvider;
import io.alluvium.spi.TableScan;
import io.alluvium.spi.TableSnapshot;
import io.alluvium.testkit.ThreadExecution;
import io.alluvium.testkit.table.Change;
import io.alluvium.testkit.table.Changes;
import io.alluvium.testkit.table.ModelTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Opens, snapshots and compares tables for {@link TableConformance}. */
abstract class TableHarness {

  static final KeyGroupRange ALL = new KeyGroupRange(0, 8);
  static final HexFormat HEX = HexFormat.of();
  static final int VALUES = 3;

  /** Directory for the files of tables. */
  @TempDir protected Path directory;

  final Execution execution = new ThreadExecution();
  final List<Table> open = new ArrayList<>();
  TableProvider.Tables tables;
  Table table;
  private int directories;

  /** The provider under test. */
  protected abstract TableProvider provider();

  /** Additional settings. */
  protected Map<String, String> settings() {
    return Map.of();
  }

  @BeforeEach
  final void openTables() {
    Configuration configuration = Configuration.of(settings(), provider().options());
    tables = provider().open(configuration, execution, Metrics.NONE);
    table = open(ALL, List.of());
  }

  @AfterEach
  final void closeTables() {
    open.forEach(Table::close);
    tables.close();
    execution.close();
  }

  Table open(KeyGroupRange keyGroups, List<TablePart> parts) {
    Table opened =
        tables.open(
            fresh(),
            keyGroups,
            parts,
            part -> {
              throw new AssertionError(part + " is not foreign");
            });
    open.add(opened);
    return opened;
  }

  Table reopen(TableSnapshot snapshot, KeyGroupRange keyGroups) {
    return open(keyGroups, List.of(part(snapshot, keyGroups)));
  }

  /** Copies a snapshot like a restore: every file under its local name. */
  TablePart part(TableSnapshot snapshot, KeyGroupRange keyGroups) {
    try {
      Path copy = Files.createDirectories(fresh());
      for (TableSnapshot.File file : snapshot.files()) {
        Files.copy(file.path(), copy.resolve(file.name()));
      }
      return new TablePart(provider().format(), copy, keyGroups);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  Path fresh() {
    return directory.resolve("d" + directories++);
  }

  CompletableFuture<TableSnapshot> startSnapshot() {
    CompletableFuture<CompletableFuture<TableSnapshot>> started = new CompletableFuture<>();
    Path into = fresh();
    execution
        .materializations()
        .execute(
            () -> {
              try {
                started.complete(table.snapshot(into));
              } catch (RuntimeException e) {
                started.completeExceptionally(e);
              }
            });
    return started.thenCompose(snapshot -> snapshot);
  }

  /** Takes a snapshot like the materializer, while {@code task} runs between {@code advance}s. */
  TableSnapshot snapshotWhile(Runnable task) {
    CompletableFuture<TableSnapshot> snapshot = startSnapshot();
    for (int i = 0; !snapshot.isDone(); i++) {
      // Bounds the changelog suffix if the snapshot is slower than the task.
      if (i < 2_000) {
        task.run();
      } else {
        LockSupport.parkNanos(100_000);
      }
      table.advance();
    }
    return execution.await(snapshot);
  }

  static void checkFiles(TableSnapshot snapshot) {
    assertThat(snapshot.files()).extracting(TableSnapshot.File::name).doesNotHaveDuplicates();
    assertThat(snapshot.files())
        .allSatisfy(
            file -> {
              assertThat(file.path()).startsWith(snapshot.directory()).hasSize(file.sizeBytes());
              assertThat(file.sizeBytes()).isPositive();
            });
  }

  static Map<String, byte[]> contents(TableSnapshot snapshot) throws IOException {
    Map<String, byte[]> contents = new HashMap<>();
    for (TableSnapshot.File file : snapshot.files()) {
      contents.put(file.name(), Files.readAllBytes(file.path()));
    }
    return contents;
  }

  List<Change> write(Changes changes, int count, ModelTable model) {
    return write(table, changes, count, model);
  }

  static List<Change> write(Table to, Changes changes, int count, ModelTable model) {
    List<Change> written = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Change change = changes.next();
      change.applyTo(to);
      model.apply(change);
      written.add(change);
    }
    return written;
  }

  static ModelTable dump(Table table) {
    return ModelTable.of(table, ALL);
  }

  static ModelTable everything(Table table) {
    ModelTable model = new ModelTable();
    model.addAll(table.scan(new byte[0], 0));
    return model;
  }

  List<String> scan(byte[] prefix) {
    List<String> entries = new ArrayList<>();
    int shared = Math.min(prefix.length, key(0, VALUES, "", "").length);
    try (TableScan scan = table.scan(prefix, prefix.length)) {
      while (scan.next()) {
        entries.add(entry(scan, shared));
      }
    }
    return entries;
  }

  static String entry(TableScan scan, int from) {
    return HEX.formatHex(scan.key(), from, scan.keyLength())
        + "="
        + HEX.formatHex(scan.value(), 0, scan.valueLength());
  }

  void put(String name, String hexValue) {
    byte[] value = HEX.parseHex(hexValue);
    table.put(key(name), key(name).length, value, value.length);
  }

  void merge(String name, String hexOperand) {
    byte[] operand = HEX.parseHex(hexOperand);
    table.merge(key(name), key(name).length, operand, operand.length);
  }

  @Nullable String get(byte[] key) {
    ByteWriter into = new ByteWriter();
    return table.get(key, key.length, into) ? HEX.formatHex(into.toByteArray()) : null;
  }

  static @Nullable String hex(byte @Nullable [] bytes) {
    return bytes == null ? null : HEX.formatHex(bytes);
  }

  static byte[] b(int value) {
    return new byte[] {(byte) value};
  }

  /** A key in key group 5 whose user key is {@code name}. */
  static byte[] key(String name) {
    return key(5, VALUES, "", HEX.formatHex(name.getBytes(UTF_8)));
  }

  static byte[] key(int keyGroup, int state, String hexKey, String hexUserKey) {
    ByteWriter out = new ByteWriter();
    KeyLayout.writeState(out, keyGroup, state);
    out.writeByteArray(HEX.parseHex(hexKey));
    out.writeByteArray(new byte[0]);
    out.writeBytes(HEX.parseHex(hexUserKey));
    return out.toByteArray();
  }
}
