package io.alluvium.internal.backend;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.files.LocalFiles;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The local directories of a process, one under each configured root, and in them one for each
 * subtask. They hold nothing durable: they go when the process closes them, and those of a process
 * that was killed go when the next one starts. Thread-safe.
 */
final class ProcessDirectories implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(ProcessDirectories.class);
  private static final String PREFIX = "process-";
  private static final String LOCK = ".lock";
  private static final String RECOVERY = "recovery";
  private static final Pattern RANGE = Pattern.compile("(\\d{1,5})-(\\d{1,5})");

  /*
   * A process holds a lock on `process-<id>.lock` while it lives; the operating system releases it, however the process
   * ends. Whoever can lock that file owns what is left. The lock file stands beside the directory and goes last.
   */
  private final List<Path> roots;
  private final List<Path> directories = new ArrayList<>();
  private final List<FileChannel> locks = new ArrayList<>();
  private final AtomicInteger subtasks = new AtomicInteger();

  private ProcessDirectories(List<Path> roots) {
    this.roots = List.copyOf(roots);
  }

  /**
   * @param id names this process among those that share the roots
   */
  static ProcessDirectories open(List<Path> roots, String id) {
    ProcessDirectories opened = new ProcessDirectories(roots);
    for (Path root : roots) {
      try {
        Files.createDirectories(root);
        opened.lock(root.resolve(PREFIX + id));
        deleteAbandoned(root);
      } catch (IOException e) {
        opened.close();
        throw StateBackendException.of(
            Kind.INVALID,
            "the local directory '"
                + root
                + "' cannot be used: "
                + e
                + "; set 'state.backend.rocksdb.localdir' to a writable directory on a fast local disk",
            e);
      }
    }
    return opened;
  }

  private void lock(Path directory) throws IOException {
    FileChannel channel =
        FileChannel.open(lockOf(directory), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    locks.add(channel);
    if (channel.tryLock() == null) {
      throw new IOException("'" + lockOf(directory) + "' is locked by another process");
    }
    Files.createDirectories(directory);
    directories.add(directory);
  }

  private static Path lockOf(Path directory) {
    return directory.resolveSibling(directory.getFileName() + LOCK);
  }

  private static void deleteAbandoned(Path root) throws IOException {
    try (DirectoryStream<Path> locks = Files.newDirectoryStream(root, PREFIX + "*" + LOCK)) {
      for (Path lock : locks) {
        String name = lock.getFileName().toString();
        Path directory = root.resolve(name.substring(0, name.length() - LOCK.length()));
        try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.WRITE);
            FileLock held = channel.tryLock()) {
          if (held != null) {
            LOG.info("deleting the local directory '{}' of a process that is gone", directory);
            LocalFiles.deleteTree(directory);
            Files.deleteIfExists(lock);
          }
        } catch (OverlappingFileLockException | IOException e) {
          // Alive in this very process, or gone meanwhile: either way not ours to delete.
          LOG.debug("left '{}' alone: {}", directory, e.toString());
        }
      }
    }
  }

  /** A fresh directory for the table of a subtask; subtasks take turns over the roots. */
  Path table(KeyGroupRange keyGroups) {
    int number = subtasks.getAndIncrement();
    Path process = directories.get(rootOf(keyGroups));
    return make(process.resolve("subtask-" + number));
  }

  /**
   * The directory that outlives the process and keeps a subtask's table files for local recovery.
   * Those of ranges that overlap it are of another parallelism, which the job no longer has, and
   * are deleted.
   */
  Path recovery(String job, KeyGroupRange keyGroups) {
    Path root = roots.get(rootOf(keyGroups));
    Path all = make(root.resolve(RECOVERY).resolve(URLEncoder.encode(job, StandardCharsets.UTF_8)));
    Path own = all.resolve(keyGroups.from() + "-" + keyGroups.to());
    try (DirectoryStream<Path> others = Files.newDirectoryStream(all)) {
      for (Path other : others) {
        if (!other.equals(own) && overlaps(other.getFileName().toString(), keyGroups)) {
          LocalFiles.deleteTree(other);
        }
      }
    } catch (IOException e) {
      LOG.warn("cannot delete old table files below '{}': {}", all, e.getMessage());
    }
    return own;
  }

  private static boolean overlaps(String name, KeyGroupRange keyGroups) {
    Matcher range = RANGE.matcher(name);
    return range.matches()
        && Integer.parseInt(range.group(1)) < keyGroups.to()
        && Integer.parseInt(range.group(2)) > keyGroups.from();
  }

  private int rootOf(KeyGroupRange keyGroups) {
    return keyGroups.isEmpty() ? 0 : keyGroups.from() / keyGroups.size() % roots.size();
  }

  private static Path make(Path directory) {
    try {
      return Files.createDirectories(directory);
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot make the local directory '" + directory + "': " + e.getMessage(), e);
    }
  }

  /** A materialization that still runs may delete its files at the same time. */
  @Override
  public void close() {
    for (Path directory : directories) {
      try {
        LocalFiles.deleteTree(directory);
        Files.deleteIfExists(lockOf(directory));
      } catch (IOException e) {
        LOG.warn("cannot delete the local directory '{}': {}", directory, e.getMessage());
      }
    }
    directories.clear();
    for (FileChannel lock : locks) {
      try {
        lock.close();
      } catch (IOException e) {
        LOG.warn("cannot release a lock of a local directory: {}", e.getMessage());
      }
    }
    locks.clear();
  }
}
