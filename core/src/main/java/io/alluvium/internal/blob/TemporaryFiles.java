package io.alluvium.internal.blob;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** The files into which blobs are written before they get their names. Thread-safe. */
final class TemporaryFiles {

  private static final int CREATE_ATTEMPTS = 1_000;

  private final Path directory;
  private final LocalDirectories directories;
  private final AtomicLong counter = new AtomicLong();

  /** Unique per writer. The process id is not enough: in containers it is usually 1. */
  private final String prefix = ProcessHandle.current().pid() + "-" + UUID.randomUUID() + "-";

  /** Files that this store is writing; {@link #deleteAbandoned} keeps them. */
  private final Set<Path> inUse = ConcurrentHashMap.newKeySet();

  TemporaryFiles(Path directory, LocalDirectories directories) {
    this.directory = directory;
    this.directories = directories;
  }

  /** A temporary file; close deletes it if it still exists. Confined to one thread. */
  final class File implements AutoCloseable {
    private final Path path;
    private final FileChannel channel;

    private File(Path path, FileChannel channel) {
      this.path = path;
      this.channel = channel;
    }

    Path path() {
      return path;
    }

    FileChannel open() {
      return channel;
    }

    @Override
    public void close() throws IOException {
      inUse.remove(path);
      channel.close();
      boolean unused = Files.deleteIfExists(path);
    }
  }

  File create() throws IOException {
    for (int attempt = 1; ; attempt++) {
      Path path = directory.resolve(prefix + counter.getAndIncrement());
      inUse.add(path);
      try {
        directories.prepare(directory);
        return new File(
            path, FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE));
      } catch (NoSuchFileException e) {
        inUse.remove(path);
        directories.forget(directory);
        if (attempt == CREATE_ATTEMPTS) {
          throw e;
        }
      } catch (IOException e) {
        inUse.remove(path);
        throw e;
      }
    }
  }

  /** Deletes files that this store is not writing and that were last written that long ago. */
  void deleteAbandoned(Duration olderThan) throws IOException {
    List<Path> files = list();
    if (files.isEmpty()) {
      return;
    }
    FileTime limit = FileTime.from(now().toInstant().minus(olderThan));
    for (Path file : files) {
      if (!inUse.contains(file)) {
        deleteIfOld(file, limit);
      }
    }
    directories.forceAndPrune(directory);
  }

  private List<Path> list() throws IOException {
    List<Path> files = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
      entries.forEach(files::add);
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    return files;
  }

  /** The time of the clock that sets the modification times of the files. */
  private FileTime now() throws IOException {
    try (File probe = create()) {
      return Files.getLastModifiedTime(probe.path());
    }
  }

  private static void deleteIfOld(Path file, FileTime limit) throws IOException {
    try {
      if (Files.getLastModifiedTime(file).compareTo(limit) <= 0) {
        Files.delete(file);
      }
    } catch (NoSuchFileException e) {
      // Its writer has deleted or renamed it.
    }
  }
}
