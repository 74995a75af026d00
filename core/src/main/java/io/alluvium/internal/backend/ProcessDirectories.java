package io.alluvium.internal.backend;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.files.LocalFiles;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The local directories of a process, one under each configured root, and in them one for each
 * subtask. They are made when the first is needed and hold nothing durable: they go when the
 * process closes them, and those of a process that was killed go when the next one needs its own.
 * Thread-safe.
 */
final class ProcessDirectories implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(ProcessDirectories.class);
  static final String PREFIX = "process-";
  private static final String LOCK = ".lock";
  private static final String NEW = ".new";
  private static final Pattern RANGE = Pattern.compile("(\\d{1,5})-(\\d{1,5})");
  private static final int LOCK_ATTEMPTS = 1_000;

  /*
   * A process holds a lock on `process-<jvm>-<id>.lock` while it lives; the operating system releases it, however the
   * process ends. The process that can lock such a file owns what is left beside it. The lock file goes last.
   *
   * POSIX releases all locks that a process holds on a file as soon as the process closes any descriptor of it. So no
   * lock file of this JVM is ever opened a second time, not even by another copy of this class, which another class
   * loader may have loaded: <jvm>, the process id and the time at which the JVM started, is in the name and is the same
   * for all of them. Two containers may share it. That is harmless: each leaves alone what the other left, and a third
   * deletes it.
   *
   * A lock file gets its name once it is locked. Before that it is `....lock.new`: another process may lock it first,
   * take it for abandoned and delete it; then another id is tried. So a `....lock` that can be locked is abandoned for
   * good, and it does no harm when several threads find that at once.
   */
  private static final String JVM =
      PREFIX
          + ProcessHandle.current().pid()
          + "-"
          + Long.toHexString(ManagementFactory.getRuntimeMXBean().getStartTime())
          + "-";

  /** A channel that nothing refers to is closed by the JVM; a table may outlive its process. */
  private static final Set<FileChannel> LOCKED = ConcurrentHashMap.newKeySet();

  private final List<LocalRoot> roots;
  private final AtomicInteger subtasks = new AtomicInteger();

  @GuardedBy("this")
  private final List<Held> held = new ArrayList<>();

  @GuardedBy("this")
  private boolean closed;

  /** Makes nothing yet. */
  ProcessDirectories(List<LocalRoot> roots) {
    this.roots = List.copyOf(roots);
  }

  /**
   * Whose table files are kept. Immutable.
   *
   * @param store where its checkpoints are: two jobs may well have the same name
   */
  record Chain(String job, String store) {

    Chain {
      // As `Path.toUri` says it of a directory that is there, and of one that is not yet.
      store = store.replaceAll("/+$", "");
    }
  }

  /** A directory below a root, and the channel that holds its lock. */
  private record Held(Path root, Path directory, FileChannel lock) {}

  /**
   * Makes the directories, unless that is done, and deletes those of processes that are gone.
   *
   * @throws StateBackendException {@code INVALID} when a root cannot be used
   */
  synchronized void prepare() {
    if (closed) {
      throw StateBackendException.closed(
          "this state backend is closed, and its local directories are gone");
    }
    if (!held.isEmpty()) {
      return;
    }
    boolean done = false;
    try {
      for (LocalRoot root : roots) {
        hold(root);
      }
      done = true;
    } finally {
      if (!done) {
        release();
      }
    }
  }

  @GuardedBy("this")
  private void hold(LocalRoot root) {
    Held own;
    try {
      root.prepare();
      own = lock(root.path());
      held.add(own);
      LocalFiles.createPrivateDirectory(own.directory());
    } catch (IOException e) {
      throw StateBackendException.of(
          Kind.INVALID,
          "the local directory '"
              + root.path()
              + "' cannot be used: "
              + reason(e)
              + "; set 'state.backend.rocksdb.localdir' to a writable directory on a fast local disk",
          e);
    }
    deleteAbandoned(root.path());
    RecoveryChains.deleteUnused(root.path(), own.directory());
  }

  private static String reason(IOException e) {
    String text = String.valueOf(e.getMessage());
    if (e instanceof AccessDeniedException) {
      return "permission denied for '" + text + "'";
    }
    if (e instanceof NoSuchFileException) {
      return "'" + text + "' cannot be made";
    }
    return e instanceof FileAlreadyExistsException ? "'" + text + "' is not a directory" : text;
  }

  private static Held lock(Path root) throws IOException {
    for (int attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
      Path directory = root.resolve(JVM + UUID.randomUUID());
      Optional<FileChannel> lock = tryLock(lockOf(directory));
      if (lock.isPresent()) {
        return new Held(root, directory, lock.get());
      }
    }
    throw new IOException(
        "other processes took each of " + LOCK_ATTEMPTS + " new lock files in '" + root + "'");
  }

  /** Makes and locks a file; empty when another process was there first. */
  private static Optional<FileChannel> tryLock(Path file) throws IOException {
    Path unnamed = file.resolveSibling(file.getFileName() + NEW);
    FileChannel channel =
        FileChannel.open(unnamed, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    boolean done = false;
    try {
      if (channel.tryLock() == null) {
        return Optional.empty();
      }
      Path unused = Files.move(unnamed, file, StandardCopyOption.ATOMIC_MOVE);
      done = true;
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } finally {
      if (!done) {
        channel.close();
      }
    }
    LOCKED.add(channel);
    return Optional.of(channel);
  }

  private static Path lockOf(Path directory) {
    return directory.resolveSibling(directory.getFileName() + LOCK);
  }

  /** What cannot be deleted stays for the next process. */
  private static void deleteAbandoned(Path root) {
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(root, PREFIX + "*" + LOCK + "{," + NEW + "}")) {
      for (Path file : files) {
        String name = file.getFileName().toString();
        if (!name.startsWith(JVM)) {
          deleteIfAbandoned(root, file, root.resolve(name.substring(0, name.lastIndexOf(LOCK))));
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      LOG.warn("cannot look for directories of processes that are gone in '{}': {}", root, e);
    }
  }

  private static void deleteIfAbandoned(Path root, Path file, Path directory) {
    try (FileChannel channel =
            FileChannel.open(file, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
        FileLock taken = channel.tryLock()) {
      if (taken == null) {
        return;
      }
      if (file.equals(lockOf(directory))) {
        LOG.info("deleting the local directory '{}' of a process that is gone", directory);
        RecoveryChains.endUses(root, directory);
        LocalFiles.deleteTree(directory);
      }
      Files.deleteIfExists(file);
    } catch (OverlappingFileLockException | IOException e) {
      // Another thread is at it, or it is gone meanwhile, or another user's.
      LOG.debug("left '{}' alone: {}", directory, e.toString());
    }
  }

  /** A fresh directory for the table of a subtask; subtasks take turns over the roots. */
  Path table(KeyGroupRange keyGroups) {
    int number = subtasks.getAndIncrement();
    return make(own(keyGroups).resolve("subtask-" + number));
  }

  private synchronized Path own(KeyGroupRange keyGroups) {
    prepare();
    return held.get(rootOf(keyGroups)).directory();
  }

  private Path root(KeyGroupRange keyGroups) {
    return roots.get(rootOf(keyGroups)).path();
  }

  /**
   * The directory that outlives the process and keeps a subtask's table files for local recovery.
   * Those of ranges that overlap it are of another parallelism, which the job no longer has, and
   * are deleted.
   */
  Path recovery(Chain chain, KeyGroupRange keyGroups) {
    Path all = use(chain, keyGroups);
    Path own = all.resolve(keyGroups.from() + "-" + keyGroups.to());
    deleteOverlapping(all, keyGroups, Optional.of(own));
    return own;
  }

  /** Local recovery is off: deletes what it once kept for these key groups. */
  void forgetRecovery(Chain chain, KeyGroupRange keyGroups) {
    Path all = RecoveryChains.directory(root(keyGroups), chain);
    if (!Files.isDirectory(all)) {
      return;
    }
    deleteOverlapping(all, keyGroups, Optional.empty());
    try {
      Files.delete(all);
    } catch (NoSuchFileException | DirectoryNotEmptyException e) {
      // Other subtasks' are in it, or their deletions were first.
    } catch (IOException e) {
      LOG.warn("cannot delete '{}': {}", all, e.getMessage());
    }
  }

  private Path use(Chain chain, KeyGroupRange keyGroups) {
    Path process = own(keyGroups);
    Path root = root(keyGroups);
    try {
      return RecoveryChains.use(root, process, chain);
    } catch (IOException e) {
      throw cannotMake(RecoveryChains.directory(root, chain), e);
    }
  }

  private static void deleteOverlapping(Path all, KeyGroupRange keyGroups, Optional<Path> except) {
    try (DirectoryStream<Path> others = Files.newDirectoryStream(all)) {
      for (Path other : others) {
        if (!except.equals(Optional.of(other))
            && overlaps(other.getFileName().toString(), keyGroups)) {
          LocalFiles.deleteTree(other);
        }
      }
    } catch (NoSuchFileException e) {
      // Another subtask deleted the last of them.
    } catch (IOException | DirectoryIteratorException e) {
      LOG.warn("cannot delete old table files below '{}': {}", all, e.getMessage());
    }
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
      LocalFiles.createPrivateDirectories(directory);
      return directory;
    } catch (IOException e) {
      throw cannotMake(directory, e);
    }
  }

  private static StateBackendException cannotMake(Path directory, IOException e) {
    return StateBackendException.unavailable(
        "cannot make the local directory '" + directory + "': " + e.getMessage(), e);
  }

  /** A materialization that still runs may delete its files at the same time. */
  @Override
  public synchronized void close() {
    closed = true;
    release();
  }

  @GuardedBy("this")
  private void release() {
    for (Held own : held) {
      try {
        RecoveryChains.endUses(own.root(), own.directory());
        LocalFiles.deleteTree(own.directory());
        Files.deleteIfExists(lockOf(own.directory()));
      } catch (IOException e) {
        LOG.warn("cannot delete the local directory '{}': {}", own.directory(), e.getMessage());
      }
    }
    for (Held own : held) {
      LOCKED.remove(own.lock());
      try {
        own.lock().close();
      } catch (IOException e) {
        LOG.warn("cannot release a lock of a local directory: {}", e.getMessage());
      }
    }
    held.clear();
  }
}
