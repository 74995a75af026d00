package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import io.alluvium.rocksdb.DbSettings.Compaction;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.ExportImportFilesMetaData;
import org.rocksdb.ImportColumnFamilyOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Statistics;
import org.rocksdb.WriteOptions;

/**
 * An open RocksDB and its one column family of data. Thread-safe as far as RocksDB is; whoever
 * opened it closes it after the last use.
 *
 * <p>The data never lie in RocksDB's default column family, because an import can only make a new
 * one. The default one stays empty.
 */
final class Database implements AutoCloseable {

  private static final byte[] DATA = "data".getBytes(StandardCharsets.UTF_8);

  private final Path directory;
  private final Natives natives;
  private final DBOptions dbOptions;
  private final ColumnFamilyOptions dataOptions;
  private final RocksDB db;
  private final ColumnFamilyHandle data;
  private final WriteOptions writeOptions;
  private final ReadOptions readOptions;
  private final Optional<Statistics> statistics;

  private Database(Path directory, DbSettings settings, Natives natives, Opening opening)
      throws RocksDBException {
    this.directory = directory;
    this.natives = natives;
    Collection<AutoCloseable> handles = natives.handles();
    this.dbOptions = settings.dbOptions(natives, handles);
    this.dataOptions = settings.columnFamilyOptions(natives, handles, opening.compaction);
    this.writeOptions = settings.writeOptions(natives, handles);
    this.readOptions = settings.readOptions(natives, handles);
    this.statistics = settings.statistics(natives);
    statistics.ifPresent(dbOptions::setStatistics);
    List<ColumnFamilyDescriptor> descriptors = new ArrayList<>();
    descriptors.add(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, dataOptions));
    if (opening.imports.isEmpty()) {
      descriptors.add(new ColumnFamilyDescriptor(dataName(directory, dataOptions), dataOptions));
    }
    List<ColumnFamilyHandle> families = new ArrayList<>();
    this.db =
        natives.add(
            opening.readOnly
                ? RocksDB.openReadOnly(dbOptions, directory.toString(), descriptors, families)
                : RocksDB.open(dbOptions, directory.toString(), descriptors, families));
    families.forEach(natives::add);
    this.data = opening.imports.isEmpty() ? families.get(1) : importData(opening.imports);
  }

  /** Opens what lies in {@code directory}, or makes an empty database there. */
  static Database open(
      Path directory, DbSettings settings, Natives natives, Compaction compaction) {
    return open(directory, settings, natives, new Opening(compaction, false, List.of()));
  }

  /** Opens an existing database without changing it. */
  static Database openReadOnly(Path directory, DbSettings settings, Natives natives) {
    return open(directory, settings, natives, new Opening(Compaction.MANUAL, true, List.of()));
  }

  /** Makes a database whose data are the exported files, which it takes over. */
  static Database importing(
      Path directory,
      DbSettings settings,
      Natives natives,
      List<ExportImportFilesMetaData> exports) {
    return open(directory, settings, natives, new Opening(Compaction.AUTOMATIC, false, exports));
  }

  private record Opening(
      Compaction compaction, boolean readOnly, List<ExportImportFilesMetaData> imports) {}

  private static Database open(
      Path directory, DbSettings settings, Natives natives, Opening opening) {
    try {
      return new Database(directory, settings, natives, opening);
    } catch (RocksDBException e) {
      natives.close();
      throw Codecs.isMissing(e)
          ? Codecs.missing(e, directory)
          : RocksDbFailures.of(e, "open a table", directory);
    } catch (RuntimeException | Error e) {
      natives.close();
      throw e;
    }
  }

  /** The name under which the data were once made. */
  private static byte[] dataName(Path directory, ColumnFamilyOptions columnFamilyOptions)
      throws RocksDBException {
    if (!Files.exists(directory.resolve("CURRENT"))) {
      return DATA;
    }
    List<byte[]> names;
    try (DBOptions plain = new DBOptions();
        Options options = new Options(plain, columnFamilyOptions)) {
      names = new ArrayList<>(RocksDB.listColumnFamilies(options, directory.toString()));
    }
    names.removeIf(name -> Arrays.equals(name, RocksDB.DEFAULT_COLUMN_FAMILY));
    if (names.size() != 1) {
      throw StateBackendException.incompatible(
          "the table in '"
              + directory
              + "' must have one column family besides the default one, but has "
              + names.stream()
                  .map(name -> new String(name, StandardCharsets.UTF_8))
                  .collect(Collectors.joining(", ", "[", "]")));
    }
    return names.get(0);
  }

  private ColumnFamilyHandle importData(List<ExportImportFilesMetaData> exports)
      throws RocksDBException {
    try (ImportColumnFamilyOptions options = new ImportColumnFamilyOptions().setMoveFiles(true)) {
      return natives.add(
          db.createColumnFamilyWithImport(
              new ColumnFamilyDescriptor(DATA, dataOptions), options, exports));
    }
  }

  Path directory() {
    return directory;
  }

  RocksDB db() {
    return db;
  }

  ColumnFamilyHandle data() {
    return data;
  }

  WriteOptions writeOptions() {
    return writeOptions;
  }

  ReadOptions readOptions() {
    return readOptions;
  }

  /** What RocksDB counts, when the host wants to read it. */
  Optional<Statistics> statistics() {
    return statistics;
  }

  DBOptions dbOptions() {
    return dbOptions;
  }

  ColumnFamilyOptions dataOptions() {
    return dataOptions;
  }

  @Override
  public void close() {
    natives.close();
  }
}
