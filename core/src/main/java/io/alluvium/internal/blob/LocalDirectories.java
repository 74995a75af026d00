package io.alluvium.internal.blob;

import io.alluvium.StateBackendException;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Creates, forces to disk and removes the directories of a store, and explains failures.
 * Thread-safe.
 */
final class LocalDirectories {

  /** Windows cannot open a directory and need not force it. */
  private static final boolean FORCE = File.separatorChar == '/';

  private static final String CANNOT_CREATE = "no directory can be made there";

  /** Messages of the operating system for permanent failures, in lower case. */
  private static final List<String> PERMANENT =
      List.of(
          CANNOT_CREATE,
          "read-only file system",
          "operation not permitted",
          "too many levels of symbolic links",
          "file name too long");

  private final Path root;

  /** Directories whose entries in their parents are known to be durable. */
  private final Set<Path> durable = ConcurrentHashMap.newKeySet();

  /** Whether the parents of the root were forced; that is done only once per store. */
  private volatile boolean forcedAbove;

  LocalDirectories(Path root) {
    this.root = root;
  }

  static Path parent(Path file) {
    return Objects.requireNonNull(file.getParent(), "a file below a directory has a parent");
  }

  /** Creates a directory and its missing parents, durably. */
  void prepare(Path directory) throws IOException {
    if (durable.contains(directory)) {
      return;
    }
    boolean inside = directory.startsWith(root) && !directory.equals(root);
    if (inside || !Files.isDirectory(directory)) {
      Path parent = parent(directory);
      prepare(parent);
      try {
        Path unused = Files.createDirectory(directory);
      } catch (FileAlreadyExistsException e) {
        if (!inside && Files.isSymbolicLink(directory) && !Files.exists(directory)) {
          throw new FileSystemException(directory.toString(), null, CANNOT_CREATE);
        }
        // Throws NoSuchFileException if the directory became empty and was deleted meanwhile.
        if (!Files.readAttributes(directory, BasicFileAttributes.class).isDirectory()) {
          throw e;
        }
      } catch (NoSuchFileException e) {
        // Empty directories are only deleted below the root, so that this parent is not the cause.
        if (!inside && Files.isDirectory(parent)) {
          throw new FileSystemException(directory.toString(), null, CANNOT_CREATE);
        }
        throw e;
      }
      force(parent);
    } else if (!forcedAbove) {
      forceAbove(directory);
      forcedAbove = true;
    }
    if (directory.startsWith(root)) {
      durable.add(directory);
    }
  }

  /**
   * Forces the parents of the root. An earlier process may have been killed after it created the
   * root or a parent, and before it forced it. A directory that cannot be opened was not written by
   * this user.
   */
  private static void forceAbove(Path directory) {
    try {
      for (@Nullable Path at = directory.getParent(); at != null; at = at.getParent()) {
        force(at);
      }
    } catch (IOException e) {
      // The directories above this one belong to another user as well.
    }
  }

  /** The directory may have been deleted: the next {@link #prepare} checks it. */
  void forget(Path directory) {
    durable.removeIf(known -> known.startsWith(directory) || directory.startsWith(known));
  }

  static void force(Path directory) throws IOException {
    if (FORCE) {
      try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
        channel.force(true);
      }
    }
  }

  /** Makes deletions in a directory durable, then removes it and its parents that are empty. */
  void forceAndPrune(Path directory) throws IOException {
    try {
      force(directory);
      for (Path at = directory; at.startsWith(root) && !at.equals(root); at = parent(at)) {
        forget(at);
        Files.delete(at);
      }
    } catch (DirectoryNotEmptyException | NoSuchFileException e) {
      // In use, or already removed by another thread: nothing to do.
      forget(directory);
    }
  }

  /** Throws {@code INVALID} if the root or one of its parents is not a directory. */
  void checkRoot() {
    for (@Nullable Path at = root; at != null; at = at.getParent()) {
      if (Files.exists(at)) {
        if (!Files.isDirectory(at)) {
          throw StateBackendException.invalid(
              "'"
                  + root
                  + "' cannot hold blobs because '"
                  + at
                  + "' is a file; name a directory instead");
        }
        return;
      }
    }
  }

  /** Whether a file does not exist, as opposed to being inaccessible. */
  static boolean isMissing(IOException e) {
    return e instanceof NoSuchFileException || text(e).contains("not a directory");
  }

  /** Converts a failure into an exception with its remedy. */
  StateBackendException failure(String what, IOException e) {
    checkRoot();
    String text = text(e);
    if (text.contains("no space left")
        || text.contains("not enough space")
        || text.contains("quota exceeded")) {
      return StateBackendException.unavailable(
          what + ": the disk of '" + root + "' is full; free space on it, nothing stored is lost",
          e);
    }
    if (e instanceof AccessDeniedException) {
      return StateBackendException.of(
          StateBackendException.Kind.INVALID,
          what
              + ": permission denied for '"
              + e.getMessage()
              + "'; make '"
              + root
              + "' readable and writable for the user '"
              + System.getProperty("user.name")
              + "' or choose another directory",
          e);
    }
    Optional<String> permanent = PERMANENT.stream().filter(text::contains).findFirst();
    if (permanent.isPresent()) {
      return StateBackendException.of(
          StateBackendException.Kind.INVALID,
          what
              + " in '"
              + root
              + "': "
              + e.getMessage()
              + "; choose a directory of a file system that can be written to, or make this one so",
          e);
    }
    return unavailable(what, e);
  }

  /** Like {@link #failure}, for a call that may have taken effect. */
  StateBackendException unavailable(String what, IOException e) {
    return StateBackendException.unavailable(
        what + " in '" + root + "': " + e.getClass().getSimpleName() + ": " + e.getMessage(), e);
  }

  private static String text(IOException e) {
    return String.valueOf(e.getMessage()).toLowerCase(Locale.ROOT);
  }
}
