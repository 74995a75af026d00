package io.alluvium.cli.runner;

import io.alluvium.cli.input.JobException;
import io.alluvium.spi.Incarnation;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A directory of output files, each visible only once the checkpoint that lists it is confirmed.
 * Thread-safe.
 *
 * <p>A transaction goes through three names: {@code .part-<subtask>.<incarnation>.<n>.open} while
 * lines are added, {@code .part-<subtask>-<checkpoint>.<incarnation>.prepared} once it is durable,
 * and {@code part-<subtask>-<checkpoint>.tsv}. Committing is the last rename; it is done again
 * without harm. What an earlier owner left under a hidden name, and what no confirmed checkpoint
 * lists, is rolled back by the next owner, never by time and never by an owner that lost the job.
 */
final class FileSink implements AutoCloseable {

  private static final Pattern VISIBLE = Pattern.compile("part-(\\d{1,9})-(\\d{1,18})\\.tsv");
  private static final Pattern HIDDEN =
      Pattern.compile(
          "\\.part-\\d+(?:-\\d+\\.([0-9a-f]{32})\\.prepared|\\.([0-9a-f]{32})\\.\\d+\\.open)"
              + "|\\.results\\.([0-9a-f]{32})");

  private final Path directory;
  private final Incarnation incarnation;
  private final ExecutorService disk;

  FileSink(Path directory, Incarnation incarnation) {
    this.directory = directory;
    this.incarnation = incarnation;
    this.disk =
        Executors.newFixedThreadPool(
            2,
            task -> {
              Thread thread = new Thread(task, "alluvium-sink");
              thread.setDaemon(true);
              return thread;
            });
  }

  /**
   * Brings the directory to what a checkpoint says, after the takeover of the job.
   *
   * @param firstCheckpoint visible files of older checkpoints are removed
   * @param listed transactions of the checkpoint that is restored; they are committed
   * @param older whether an incarnation lost the job before this one got it
   */
  void recover(long firstCheckpoint, List<Transaction> listed, Predicate<Incarnation> older) {
    try {
      commit(listed);
      for (Path file : list(directory)) {
        String name = String.valueOf(file.getFileName());
        Matcher visible = VISIBLE.matcher(name);
        Matcher hidden = HIDDEN.matcher(name);
        if (visible.matches()
            ? Long.parseLong(visible.group(2)) < firstCheckpoint
            : hidden.matches() && older.test(writerOf(hidden))) {
          delete(file);
        }
      }
      syncDirectory();
    } catch (IOException e) {
      throw cannotWrite(e);
    }
  }

  private static Incarnation writerOf(Matcher hidden) {
    for (int group = 1; group < hidden.groupCount(); group++) {
      if (hidden.group(group) != null) {
        return Incarnation.parse(hidden.group(group));
      }
    }
    return Incarnation.parse(hidden.group(hidden.groupCount()));
  }

  SinkWriter writer(int subtask) {
    return new SinkWriter(this, subtask);
  }

  /**
   * Takes the final results of a subtask.
   *
   * @param maxBytes held in memory, about
   */
  SortedRuns rows(int subtask, long maxBytes) {
    return new SortedRuns(this, Integer.toString(subtask), maxBytes);
  }

  /** For files of this owner that are no output yet; removed by {@link #close}. */
  Path temporaryDirectory() throws IOException {
    return Files.createDirectories(temporaryName());
  }

  private Path temporaryName() {
    return directory.resolve(".results." + incarnation);
  }

  Path openName(int subtask, int file) {
    return directory.resolve(".part-" + subtask + "." + incarnation + "." + file + ".open");
  }

  CompletableFuture<Optional<Transaction>> prepare(
      int subtask, long checkpoint, Path file, OutputStream out) {
    Transaction transaction = Transaction.of(subtask, checkpoint, incarnation);
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            out.close();
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
              channel.force(true);
            }
            Files.move(
                file, directory.resolve(transaction.hiddenName()), StandardCopyOption.ATOMIC_MOVE);
            syncDirectory();
            return Optional.of(transaction);
          } catch (NoSuchFileException e) {
            throw new JobException(
                "the unfinished output '"
                    + e.getFile()
                    + "' was removed while it was written: another process has taken over the job;"
                    + " this one stops",
                e);
          } catch (IOException e) {
            throw cannotWrite(e);
          }
        },
        disk);
  }

  /** Makes transactions visible; those that are visible already stay so. */
  void commit(Collection<Transaction> transactions) {
    try {
      for (Transaction transaction : transactions) {
        Path visible = directory.resolve(transaction.visibleName());
        try {
          Files.move(
              directory.resolve(transaction.hiddenName()), visible, StandardCopyOption.ATOMIC_MOVE);
        } catch (NoSuchFileException e) {
          if (!Files.exists(visible)) {
            throw new JobException(
                "the output file '"
                    + visible
                    + "' is missing, though a confirmed checkpoint lists it; put it back, or start"
                    + " over with --fresh",
                e);
          }
        }
      }
      if (!transactions.isEmpty()) {
        syncDirectory();
      }
    } catch (AtomicMoveNotSupportedException e) {
      throw new JobException(
          "the file system of '"
              + directory
              + "' cannot rename atomically; choose another --output",
          e);
    } catch (IOException e) {
      throw cannotWrite(e);
    }
  }

  /**
   * Whether every one of these files is there, or waits to be committed.
   *
   * @param prepared transactions that a restore commits
   */
  static boolean allRecoverable(
      Path directory, Collection<String> names, Collection<Transaction> prepared) {
    Set<String> waiting =
        prepared.stream()
            .filter(transaction -> Files.exists(directory.resolve(transaction.hiddenName())))
            .map(Transaction::visibleName)
            .collect(Collectors.toSet());
    return names.stream()
        .allMatch(name -> waiting.contains(name) || Files.exists(directory.resolve(name)));
  }

  /** Names of the visible files. */
  static Set<String> visibleFiles(Path directory) {
    try {
      return list(directory).stream()
          .map(file -> String.valueOf(file.getFileName()))
          .filter(name -> VISIBLE.matcher(name).matches())
          .collect(Collectors.toSet());
    } catch (IOException e) {
      throw OutputDirectory.cannotWrite(directory, e);
    }
  }

  /** The greatest checkpoint that has a visible file, or 0. */
  static long greatestCheckpoint(Path directory) {
    long greatest = 0;
    for (String name : visibleFiles(directory)) {
      Matcher visible = VISIBLE.matcher(name);
      if (visible.matches()) {
        greatest = Math.max(greatest, Long.parseLong(visible.group(2)));
      }
    }
    return greatest;
  }

  private static List<Path> list(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return new ArrayList<>(files.toList());
    }
  }

  /** Deletes a file, or a directory of files. */
  private static void delete(Path path) throws IOException {
    try {
      if (Files.isDirectory(path)) {
        for (Path file : list(path)) {
          Files.deleteIfExists(file);
        }
      }
      Files.deleteIfExists(path);
    } catch (NoSuchFileException | DirectoryNotEmptyException e) {
      // Somebody else deletes it too, or its owner still adds to it: then the next start deletes
      // it.
    }
  }

  private void syncDirectory() throws IOException {
    try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  JobException cannotWrite(IOException cause) {
    return OutputDirectory.cannotWrite(directory, cause);
  }

  /** Waits for nothing: what is not prepared yet is left to the next start. */
  @Override
  public void close() {
    disk.shutdown();
    try {
      delete(temporaryName());
    } catch (IOException e) {
      throw cannotWrite(e);
    }
  }
}
