package io.alluvium.rocksdb;

import io.alluvium.StateBackendException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.rocksdb.NativeLibraryLoader;
import org.rocksdb.RocksDB;

/** Loads RocksDB's native library once per process. Thread-safe. */
final class NativeLibrary {

  private static boolean loaded;

  private NativeLibrary() {}

  /**
   * RocksDB unpacks its library into the temporary directory and removes it when the JVM ends in
   * order. A process that is killed would leave 17 MB behind each time, so the file is removed as
   * soon as it is mapped, where the system allows that.
   */
  static synchronized void load() {
    if (loaded) {
      return;
    }
    try {
      Path directory = Files.createTempDirectory("alluvium-rocksdb");
      try {
        NativeLibraryLoader.getInstance().loadLibrary(directory.toString());
        RocksDB.loadLibrary();
      } finally {
        removeIfPossible(directory);
      }
      loaded = true;
    } catch (IOException | UnsatisfiedLinkError e) {
      throw StateBackendException.unavailable(
          "cannot load the native library of RocksDB from '"
              + System.getProperty("java.io.tmpdir")
              + "': "
              + e.getMessage()
              + "; the directory must be writable, have space and allow execution",
          e);
    }
  }

  private static void removeIfPossible(Path directory) {
    try {
      Directories.delete(directory);
    } catch (IOException e) {
      // A system that locks mapped files; RocksDB removes it at the exit.
    }
  }
}
