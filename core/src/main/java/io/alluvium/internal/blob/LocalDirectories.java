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
 * Makes, forces to disk and removes the directories of a store, and says in plain words what is
 * wrong with them. Thread-safe.
 */
final class LocalDirectories {

  /** Windows cannot open a directory and needs no forcing of it. */
  private static final boolean FORCE = File.separatorChar == '/';

  private static final String CANNOT_MAKE = "no directory can be made there";

  /** What does not pass by itself, as the operating system says it; in lower case. */
  private static final List<String> LASTING =
      List.of(
          CANNOT_MAKE,
          "read-only file system",
          "operation not permitted",
          "too many levels of symbolic links",
          "file name too long");

  private final Path root;

  /** Directories whose entries in their parents are known to be durable. */
  private final Set<Path> durable = ConcurrentHashMap.newKeySet();

  /** What lies above the root is forced once: deletions make the store look at the root again. */
  private volatile boolean forcedAbove;

  LocalDirectories(Path root) {
    this.root = root;
  }

  static Path parent(Path file) {
    return Objects.requireNonNull(file.getParent(), "a file below a directory has a parent");
  }

  /** Makes a directory, and what it needs above it, durably. */
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
          throw new FileSystemException(directory.toString(), null, CANNOT_MAKE);
        }
        // Fails with NoSuchFileException when it became empty and was deleted since.
        if (!Files.readAttributes(directory, BasicFileAttributes.class).isDirectory()) {
          throw e;
        }
      } catch (NoSuchFileException e) {
        // Above the root nothing is deleted because it is empty: there the parent stays.
        if (!inside && Files.isDirectory(parent)) {
          throw new FileSystemException(directory.toString(), null, CANNOT_MAKE);
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
   * A process may have been killed after it made the root, or what the root stands in, and before
   * it forced that. A directory that cannot be opened was not written to by this user.
   */
  private static void forceAbove(Path directory) {
    try {
      for (@Nullable Path at = directory.getParent(); at != null; at = at.getParent()) {
        force(at);
      }
    } catch (IOException e) {
      // Of what lies above, the rest is another user's as well.
    }
  }

  /** The directory may be gone: the next {@link #prepare} looks. */
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

  /** Makes deletions in a directory durable, then removes it and those above that are empty. */
  void forceAndPrune(Path directory) throws IOException {
    try {
      force(directory);
      for (Path at = directory; at.startsWith(root) && !at.equals(root); at = parent(at)) {
        forget(at);
        Files.delete(at);
      }
    } catch (DirectoryNotEmptyException | NoSuchFileException e) {
      // In use, or somebody else removed it: both are what was wanted.
      forget(directory);
    }
  }

  /** Throws {@code INVALID} when the root, or what it stands in, is no directory. */
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

  /** Whether something does not exist, as opposed to being out of reach. */
  static boolean isMissing(IOException e) {
    return e instanceof NoSuchFileException || text(e).contains("not a directory");
  }

  /** What a caller is told about a failed call. */
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
    Optional<String> lasting = LASTING.stream().filter(text::contains).findFirst();
    if (lasting.isPresent()) {
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

  /** As {@link #failure} when the call may have taken effect, whatever the reason. */
  StateBackendException unavailable(String what, IOException e) {
    return StateBackendException.unavailable(
        what + " in '" + root + "': " + e.getClass().getSimpleName() + ": " + e.getMessage(), e);
  }

  private static String text(IOException e) {
    return String.valueOf(e.getMessage()).toLowerCase(Locale.ROOT);
  }
}
