package io.alluvium.rocksdb;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.rocksdb.DbSettings.Compaction;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableScan;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.rocksdb.RocksDBException;

/**
 * Makes a database from restored files. Confined to one thread; used once.
 *
 * <ul>
 *   <li>No part: an empty database.
 *   <li>One part of our own: its files are the database; what lies outside of its key groups is cut
 *       off.
 *   <li>Several: their files are imported side by side into a new one, see {@link TableImport}.
 *   <li>Parts of other formats, on top: read entry by entry and loaded as sorted files.
 * </ul>
 */
final class TableRestore {

  /** Under the table's directory: the database, and files that are about to become part of it. */
  static final String DATABASE = "db";

  static final String WORK = "work";

  private final DbSettings settings;
  private final Path directory;
  private final KeyGroupRange keyGroups;

  TableRestore(DbSettings settings, Path directory, KeyGroupRange keyGroups) {
    this.settings = settings;
    this.directory = directory;
    this.keyGroups = keyGroups;
  }

  /**
   * @param natives empty; owns the database that is returned, or is closed when this throws
   */
  Database open(List<TablePart> parts, Function<TablePart, TableScan> foreign, Natives natives) {
    List<TablePart> own = new ArrayList<>();
    List<TablePart> others = new ArrayList<>();
    for (TablePart part : clipped(parts)) {
      (part.format().equals(RocksDbTableProvider.FORMAT) ? own : others).add(part);
    }
    try {
      Path target = directory.resolve(DATABASE);
      Files.createDirectories(target);
      Database database =
          switch (own.size()) {
            case 0 -> Database.open(target, settings, natives, Compaction.AUTOMATIC);
            case 1 -> inPlace(own.get(0), target, natives);
            default ->
                new TableImport(settings, directory.resolve(WORK), TableImport.Overlap.COMPACT)
                    .open(own, target, natives);
          };
      for (int i = 0; i < others.size(); i++) {
        try (TableScan scan = foreign.apply(others.get(i))) {
          load(database, others.get(i).keyGroups(), scan, "foreign-" + i, natives);
        }
      }
      return database;
    } catch (IOException e) {
      natives.close();
      throw RocksDbFailures.of(e, "restore a table", directory);
    } catch (RocksDBException e) {
      natives.close();
      throw RocksDbFailures.of(e, "restore a table", directory);
    } catch (RuntimeException | Error e) {
      natives.close();
      throw e;
    }
  }

  /** What of each part belongs to this table; no key group may come from two of them. */
  private List<TablePart> clipped(List<TablePart> parts) {
    List<TablePart> clipped = new ArrayList<>();
    for (TablePart part : parts) {
      KeyGroupRange taken = part.keyGroups().intersect(keyGroups);
      if (taken.isEmpty()) {
        continue;
      }
      for (TablePart other : clipped) {
        if (!other.keyGroups().intersect(taken).isEmpty()) {
          throw StateBackendException.invalid(
              "two restored parts hold key groups "
                  + other.keyGroups().intersect(taken)
                  + ": '"
                  + other.directory()
                  + "' and '"
                  + part.directory()
                  + "'");
        }
      }
      clipped.add(new TablePart(part.format(), part.directory(), taken));
    }
    return clipped;
  }

  private Database inPlace(TablePart part, Path target, Natives natives)
      throws IOException, RocksDBException {
    checkHoldsTable(part);
    Directories.stage(part.directory(), target);
    Database database = Database.open(target, settings, natives, Compaction.AUTOMATIC);
    Clip.to(database, part.keyGroups(), natives);
    return database;
  }

  /** Without this, RocksDB would make a new database where one is missing. */
  static void checkHoldsTable(TablePart part) throws IOException {
    Path current = part.directory().resolve("CURRENT");
    if (!Files.exists(current)) {
      throw StateBackendException.corrupt(
          "the restored table in '" + part.directory() + "' has no file CURRENT");
    }
    String manifest = Files.readString(current, StandardCharsets.ISO_8859_1).strip();
    if (!manifest.matches("MANIFEST-[0-9]+") || !Files.exists(part.directory().resolve(manifest))) {
      throw StateBackendException.corrupt(
          "the restored table in '"
              + part.directory()
              + "' has no file '"
              + manifest
              + "', which its file CURRENT names");
    }
  }

  private void load(
      Database database, KeyGroupRange taken, TableScan scan, String prefix, Natives natives) {
    try (SortedFileLoader loader =
        new SortedFileLoader(
            database,
            natives.sibling(),
            directory.resolve(WORK),
            prefix,
            settings.targetFileBytes())) {
      loader.putAll(scan, key -> taken.contains(KeyLayout.keyGroup(key, 0)));
      loader.ingest();
    }
  }
}
