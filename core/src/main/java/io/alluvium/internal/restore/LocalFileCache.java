package io.alluvium.internal.restore;

import io.alluvium.StateBackendException;
import io.alluvium.internal.files.LocalFiles;
import io.alluvium.spi.LocalTableFiles;
import io.alluvium.spi.TableFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Local copies of durable table files, so that a restore on the same machine need not download them
 * (local recovery). One directory, a file for each blob, named by the blob; belongs to one subtask.
 * Thread-safe: every change is one atomic operation of the file system.
 *
 * <p>Files that never change are hard links and cost no space while the table has them too; those
 * that do are copies. Nothing here is trusted: what is found is compared with size and checksum
 * before it is used, so that a crash at any moment leaves at worst a file that is of no use.
 */
public final class LocalFileCache implements LocalTableFiles {

  private static final Logger LOG = LoggerFactory.getLogger(LocalFileCache.class);
  private static final String TEMPORARY = ".tmp";

  private final Path directory;
  private final AtomicLong temporaries = new AtomicLong();

  /**
   * Uses {@code directory}, which is made when it is first needed.
   *
   * @param directory on the file system of the tables, or files are copied instead of linked
   */
  public LocalFileCache(Path directory) {
    this.directory = directory;
  }

  @Override
  public void add(Path path, TableFile file) {
    Path temporary =
        directory.resolve(nameOf(file) + "." + temporaries.incrementAndGet() + TEMPORARY);
    try {
      Files.createDirectories(directory);
      Files.deleteIfExists(temporary);
      place(path, temporary, file.immutable());
      Files.move(temporary, directory.resolve(nameOf(file)), StandardCopyOption.ATOMIC_MOVE);
      // Renaming one name of a file over another of the same file does nothing (POSIX).
      Files.deleteIfExists(temporary);
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot keep table file '" + path + "' for local recovery in '" + directory + "': " + e,
          e);
    }
  }

  @Override
  public Optional<Path> lookup(TableFile file) {
    Path path = directory.resolve(nameOf(file));
    try {
      if (Files.size(path) == file.sizeBytes() && LocalFiles.crc32c(path) == file.crc32c()) {
        return Optional.of(path);
      }
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      LOG.warn(
          "local table file '{}' cannot be read and is fetched instead: {}", path, e.toString());
    }
    return Optional.empty();
  }

  /** Deletes everything but these files. */
  @Override
  public void retain(Collection<TableFile> files) {
    Set<String> kept = new HashSet<>();
    files.forEach(file -> kept.add(nameOf(file)));
    for (Path path : entries()) {
      if (!kept.contains(path.getFileName().toString())) {
        try {
          Files.deleteIfExists(path);
        } catch (IOException e) {
          throw StateBackendException.unavailable(
              "cannot delete local table file '" + path + "': " + e, e);
        }
      }
    }
  }

  private List<Path> entries() {
    try (Stream<Path> entries = Files.list(directory)) {
      return entries.toList();
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      throw StateBackendException.unavailable("cannot list directory '" + directory + "': " + e, e);
    }
  }

  private static String nameOf(TableFile file) {
    return file.blob().toString().replace('/', '-');
  }

  /** Makes {@code target} a link to, or a copy of, {@code source}. */
  static void place(Path source, Path target, boolean immutable) throws IOException {
    if (immutable) {
      try {
        Files.createLink(target, source);
        return;
      } catch (UnsupportedOperationException | IOException e) {
        if (Files.exists(target)) {
          throw e;
        }
        // Another file system, or one without links: a copy serves as well.
      }
    }
    Files.copy(source, target);
  }
}
