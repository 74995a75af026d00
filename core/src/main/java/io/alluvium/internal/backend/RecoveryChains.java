package io.alluvium.internal.backend;

import io.alluvium.internal.files.LocalFiles;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.UUID;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What processes keep below a local root for local recovery: a directory for each chain of
 * checkpoints. One that no process used for days is deleted, because a job that begins a new chain
 * never comes back to the old one. Stateless; other processes may do the same at the same time.
 */
final class RecoveryChains {

  private static final Logger LOG = LoggerFactory.getLogger(RecoveryChains.class);

  /** A job that stood still for longer fetches its tables. */
  static final Duration KEPT_UNUSED = Duration.ofDays(7);

  private static final String RECOVERY = "recovery";
  private static final String USES = "uses";
  private static final String UNUSED = ".unused";
  private static final int READABLE = 64;
  private static final Pattern NAME =
      Pattern.compile(".*-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\\.unused)?");

  /*
   * `recovery/<chain>` is changed last when a process began or ended to use it. Meanwhile the directory of the process,
   * which goes with the process, holds a file `uses/<chain>`. The one that deletes it for a killed process notes the use.
   *
   * A process first notes its use, and then makes the directory. A deletion first renames the directory, and then looks
   * for uses. So either it sees the use, and renames the directory back, or the process finds no directory and makes one.
   */

  private RecoveryChains() {}

  /** A name that can be read, of bounded length, and different for each chain. */
  static String nameOf(ProcessDirectories.Chain chain) {
    String job = URLEncoder.encode(chain.job(), StandardCharsets.UTF_8);
    String both = job + "\n" + chain.store();
    UUID hash = UUID.nameUUIDFromBytes(both.getBytes(StandardCharsets.UTF_8));
    return job.substring(0, Math.min(job.length(), READABLE)) + "-" + hash;
  }

  /** The directory of a chain, which may not be there. */
  static Path directory(Path root, ProcessDirectories.Chain chain) {
    return root.resolve(RECOVERY).resolve(nameOf(chain));
  }

  /**
   * Makes the directory of a chain; nobody deletes it while the directory of the process exists.
   */
  static Path use(Path root, Path process, ProcessDirectories.Chain chain) throws IOException {
    Path uses = process.resolve(USES);
    LocalFiles.createPrivateDirectories(uses);
    try {
      Path unused = Files.createFile(uses.resolve(nameOf(chain)));
    } catch (FileAlreadyExistsException e) {
      // Another subtask was first.
    }
    Path directory = directory(root, chain);
    LocalFiles.createPrivateDirectories(directory);
    touch(directory);
    return directory;
  }

  /** The process ends, or was killed: what it used was in use until now, as far as is known. */
  static void endUses(Path root, Path process) {
    try (DirectoryStream<Path> uses = Files.newDirectoryStream(process.resolve(USES))) {
      for (Path use : uses) {
        touch(root.resolve(RECOVERY).resolve(use.getFileName().toString()));
      }
    } catch (NoSuchFileException e) {
      // It used none.
    } catch (IOException | DirectoryIteratorException e) {
      LOG.warn("cannot note what '{}' used for local recovery: {}", process, e.toString());
    }
  }

  /** By the clock of the file system, as all times here. */
  private static void touch(Path directory) throws IOException {
    try {
      Files.delete(Files.createTempFile(directory, "used", ".tmp"));
    } catch (NoSuchFileException e) {
      // Nothing is kept any more.
    }
  }

  /**
   * Deletes the chains that no process used for long. What cannot be deleted stays for the next
   * process.
   *
   * @param process the directory of this process, just made: its time is now
   */
  static void deleteUnused(Path root, Path process) {
    try (DirectoryStream<Path> chains = Files.newDirectoryStream(root.resolve(RECOVERY))) {
      FileTime now = Files.getLastModifiedTime(process);
      for (Path chain : chains) {
        String name = chain.getFileName().toString();
        if (NAME.matcher(name).matches()
            && Files.isDirectory(chain, LinkOption.NOFOLLOW_LINKS)
            && isOld(chain, now)) {
          deleteUnlessUsed(root, chain);
        }
      }
    } catch (NoSuchFileException e) {
      // No process ever kept anything, or another one is at it.
    } catch (IOException | DirectoryIteratorException e) {
      LOG.warn(
          "cannot delete what local recovery no longer needs below '{}': {}", root, e.toString());
    }
  }

  private static boolean isOld(Path chain, FileTime now) throws IOException {
    return Files.getLastModifiedTime(chain).toMillis() < now.toMillis() - KEPT_UNUSED.toMillis();
  }

  private static void deleteUnlessUsed(Path root, Path chain) throws IOException {
    String name = chain.getFileName().toString();
    Path taken = chain;
    if (!name.endsWith(UNUSED)) {
      if (isUsed(root, name)) {
        return;
      }
      taken =
          Files.move(chain, chain.resolveSibling(name + UNUSED), StandardCopyOption.ATOMIC_MOVE);
      if (isUsed(root, name)) {
        putBack(taken, chain);
        return;
      }
    }
    LOG.info("deleting '{}': no process used it for {} days", chain, KEPT_UNUSED.toDays());
    LocalFiles.deleteTree(taken);
  }

  private static boolean isUsed(Path root, String name) throws IOException {
    try (DirectoryStream<Path> processes =
        Files.newDirectoryStream(root, ProcessDirectories.PREFIX + "*")) {
      for (Path process : processes) {
        if (Files.exists(process.resolve(USES).resolve(name))) {
          return true;
        }
      }
    }
    return false;
  }

  private static void putBack(Path taken, Path chain) throws IOException {
    try {
      Path unused = Files.move(taken, chain, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      // The process that uses it has made another, and fetches what was in this one.
      LocalFiles.deleteTree(taken);
    }
  }
}
