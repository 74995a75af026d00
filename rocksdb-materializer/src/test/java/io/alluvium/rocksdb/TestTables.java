package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Table;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableSnapshot;
import io.alluvium.testkit.ThreadExecution;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Tables of one process under a directory; closing it finds native objects that were forgotten. */
final class TestTables implements AutoCloseable {

  static final KeyGroupRange ALL = new KeyGroupRange(0, 16);

  /** Small buffers and files, so that a few thousand entries flush and compact. */
  static final Map<String, String> SMALL =
      Map.of(
          RocksDbOptions.MEMORY.key(), "8 mb",
          RocksDbOptions.WRITE_BUFFER_SIZE.key(), "256 kb",
          RocksDbOptions.TARGET_FILE_SIZE.key(), "128 kb",
          RocksDbOptions.LEVEL_BASE_SIZE.key(), "1 mb");

  final ThreadExecution execution = new ThreadExecution();
  final RocksDbTables tables;
  private final Path directory;
  private final List<Table> open = new ArrayList<>();
  private int directories;

  TestTables(Path directory) {
    this(directory, Map.of(), Metrics.NONE);
  }

  TestTables(Path directory, Map<String, String> settings, Metrics metrics) {
    this(directory, settings, metrics, RocksDbHost.NONE);
  }

  TestTables(Path directory, Map<String, String> settings, Metrics metrics, RocksDbHost host) {
    this.directory = directory;
    RocksDbTableProvider provider = new RocksDbTableProvider();
    Map<String, String> all = new HashMap<>(SMALL);
    all.putAll(settings);
    this.tables =
        (RocksDbTables)
            provider.open(Configuration.of(all, provider.options()), execution, metrics, host);
  }

  Path fresh() {
    return directory.resolve("d" + directories++);
  }

  Table open() {
    return open(ALL, List.of());
  }

  Table open(KeyGroupRange keyGroups, List<TablePart> parts) {
    Table table =
        tables.open(
            fresh(),
            keyGroups,
            parts,
            part -> {
              throw new AssertionError(part + " is not foreign");
            });
    open.add(table);
    return table;
  }

  /** The directory handed out last. */
  Path last() {
    return directory.resolve("d" + (directories - 1));
  }

  /** Takes a snapshot in a thread of the materializer's, after it ran {@code before} there. */
  CompletableFuture<TableSnapshot> snapshotInBackground(Table table, Runnable before) {
    CompletableFuture<TableSnapshot> done = new CompletableFuture<>();
    Path into = fresh();
    execution
        .downloads()
        .execute(
            () -> {
              try {
                before.run();
                done.complete(execution.await(table.snapshot(into)));
              } catch (StateBackendException e) {
                done.completeExceptionally(e);
              }
            });
    return done;
  }

  /** Copies a snapshot as a restore would: every file under its local name. */
  TablePart part(TableSnapshot snapshot, KeyGroupRange keyGroups) {
    try {
      Path copy = Files.createDirectories(fresh());
      for (TableSnapshot.File file : snapshot.files()) {
        Files.copy(file.path(), copy.resolve(file.name()));
      }
      return new TablePart(RocksDbTableProvider.FORMAT, copy, keyGroups);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  static byte[] key(int keyGroup, int state, String name) {
    ByteWriter out = new ByteWriter();
    KeyLayout.writeState(out, keyGroup, state);
    out.writeString(name);
    return out.toByteArray();
  }

  static byte[] state(int keyGroup, int state) {
    ByteWriter out = new ByteWriter();
    KeyLayout.writeState(out, keyGroup, state);
    return out.toByteArray();
  }

  static void put(Table table, byte[] key, String value) {
    byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
    table.put(key, key.length, bytes, bytes.length);
  }

  static String get(Table table, byte[] key) {
    ByteWriter into = new ByteWriter();
    return table.get(key, key.length, into)
        ? new String(into.toByteArray(), StandardCharsets.UTF_8)
        : "(none)";
  }

  @Override
  public void close() {
    open.forEach(Table::close);
    tables.close();
    execution.close();
    assertThat(tables.liveNatives()).as("native objects that nobody closed").isZero();
  }
}
