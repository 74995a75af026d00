package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import io.alluvium.spi.TableScan;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.rocksdb.EnvOptions;
import org.rocksdb.IngestExternalFileOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDBException;
import org.rocksdb.SstFileWriter;

/**
 * Writes entries, ascending by key, into files of the table's own format and adds them to the table
 * as they are: an entry overrides everything that was in the table before. Confined to one thread;
 * several may load into one database at once, as long as their keys do not interleave.
 */
final class SortedFileLoader implements AutoCloseable {

  private static final int FIRST_CAPACITY = 4 << 10;

  /**
   * Larger keys and values go through arrays. Direct memory is scarce, and several loaders run at
   * once.
   */
  private static final int MAX_CAPACITY = 1 << 20;

  private final Database database;
  private final Natives natives;
  private final Path workDirectory;
  private final String prefix;
  private final long targetFileBytes;
  private final SstFileWriter writer;
  private final List<Path> files = new ArrayList<>();

  private ByteBuffer keyBuffer = ByteBuffer.allocateDirect(FIRST_CAPACITY);
  private ByteBuffer valueBuffer = ByteBuffer.allocateDirect(FIRST_CAPACITY);
  private @Nullable Path openFile;
  private long openFileBytes;

  /**
   * @param workDirectory on the table's file system; made when absent
   * @param prefix of the names of the files there, used by nobody else
   */
  SortedFileLoader(
      Database database, Natives natives, Path workDirectory, String prefix, long targetFileBytes) {
    this.database = database;
    this.natives = natives;
    this.workDirectory = workDirectory;
    this.prefix = prefix;
    this.targetFileBytes = targetFileBytes;
    try {
      Files.createDirectories(workDirectory);
      EnvOptions env = natives.add(new EnvOptions());
      Options options = natives.add(new Options(database.dbOptions(), database.dataOptions()));
      this.writer = natives.add(new SstFileWriter(env, options));
    } catch (IOException e) {
      natives.close();
      throw RocksDbFailures.of(e, "make a directory for loading", workDirectory);
    } catch (RuntimeException | Error e) {
      natives.close();
      throw e;
    }
  }

  void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    try {
      beforeEntry(keyLength + valueLength);
      if (Math.max(keyLength, valueLength) > MAX_CAPACITY) {
        writer.put(copy(key, keyOffset, keyLength), copy(value, valueOffset, valueLength));
        return;
      }
      keyBuffer = filled(keyBuffer, key, keyOffset, keyLength);
      valueBuffer = filled(valueBuffer, value, valueOffset, valueLength);
      writer.put(keyBuffer, valueBuffer);
    } catch (RocksDBException e) {
      throw failure(e);
    }
  }

  void delete(byte[] key, int keyOffset, int keyLength) {
    try {
      beforeEntry(keyLength);
      writer.delete(copy(key, keyOffset, keyLength));
    } catch (RocksDBException e) {
      throw failure(e);
    }
  }

  void merge(
      byte[] key, int keyOffset, int keyLength, byte[] operand, int operandOffset, int length) {
    try {
      beforeEntry(keyLength + length);
      writer.merge(copy(key, keyOffset, keyLength), copy(operand, operandOffset, length));
    } catch (RocksDBException e) {
      throw failure(e);
    }
  }

  /** Puts the entries of a scan whose key is wanted. */
  void putAll(TableScan scan, Predicate<byte[]> wanted) {
    while (scan.next()) {
      if (wanted.test(scan.key())) {
        put(scan.key(), 0, scan.keyLength(), scan.value(), 0, scan.valueLength());
      }
    }
  }

  /** Adds everything written so far to the table, all or nothing. */
  void ingest() {
    try {
      finishFile();
      if (files.isEmpty()) {
        return;
      }
      try (IngestExternalFileOptions options = new IngestExternalFileOptions()) {
        // The files are ours alone: link them instead of copying, and never write into them again,
        // because snapshots share them.
        options.setMoveFiles(true).setWriteGlobalSeqno(false);
        database
            .db()
            .ingestExternalFile(
                database.data(), files.stream().map(Path::toString).toList(), options);
      }
    } catch (RocksDBException e) {
      throw failure(e);
    }
  }

  private void beforeEntry(int bytes) throws RocksDBException {
    if (openFile != null && openFileBytes >= targetFileBytes) {
      finishFile();
    }
    if (openFile == null) {
      openFile = workDirectory.resolve(prefix + "-" + files.size() + ".sst");
      openFileBytes = 0;
      files.add(openFile);
      writer.open(openFile.toString());
    }
    openFileBytes += bytes;
  }

  private void finishFile() throws RocksDBException {
    if (openFile != null) {
      openFile = null;
      writer.finish();
    }
  }

  private static byte[] copy(byte[] source, int offset, int length) {
    return Arrays.copyOfRange(source, offset, offset + length);
  }

  private static ByteBuffer filled(ByteBuffer buffer, byte[] source, int offset, int length) {
    ByteBuffer target =
        length <= buffer.capacity()
            ? buffer
            : ByteBuffer.allocateDirect(
                Math.max(length, Math.min(2 * buffer.capacity(), MAX_CAPACITY)));
    target.clear();
    target.put(source, offset, length);
    target.flip();
    return target;
  }

  private StateBackendException failure(RocksDBException e) {
    return RocksDbFailures.of(e, "load sorted entries", database.directory());
  }

  /** Frees the writer and removes files that were not taken over. */
  @Override
  public void close() {
    natives.close();
    for (Path file : files) {
      try {
        Files.deleteIfExists(file);
      } catch (IOException e) {
        throw RocksDbFailures.of(e, "remove a loaded file", workDirectory);
      }
    }
    files.clear();
  }
}
