package io.alluvium.internal.restore;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.RestoreReport;
import io.alluvium.StateBackendException;
import io.alluvium.internal.files.LocalFiles;
import io.alluvium.internal.restore.RestorePlan.BlockRead;
import io.alluvium.internal.restore.RestorePlan.Source;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.Execution;
import io.alluvium.spi.LocalTableFiles;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableFile;
import io.alluvium.spi.TablePart;
import io.alluvium.spi.TableProvider.Tables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Restores tables from checkpoints: plan, fetch files and changelog side by side, open, replay.
 * Thread-safe; each restore is confined to the thread that asks for it.
 */
public final class Restorer {

  /**
   * Bounds of restores. Immutable.
   *
   * @param memoryBytes what all restores that run at once may hold of changelogs in memory
   * @param replayTasks how many key-group ranges are replayed at once, at least 1
   * @param rangeBytes how much of a file is fetched by one request
   */
  public record Settings(long memoryBytes, int replayTasks, int rangeBytes) {

    private static final long MAX_MEMORY_BYTES = 512L << 20;
    private static final int RANGE_BYTES = 16 << 20;

    /** A task for each processor, a quarter of the heap but at most 512 MB, ranges of 16 MB. */
    public static Settings ofThisMachine() {
      Runtime runtime = Runtime.getRuntime();
      return new Settings(
          Math.min(MAX_MEMORY_BYTES, runtime.maxMemory() / 4),
          runtime.availableProcessors(),
          RANGE_BYTES);
    }
  }

  /** What restores stand on. */
  public record Components(
      BlobStore store,
      ChangelogStorage log,
      Execution execution,
      Metrics metrics,
      ReplaySpeed speed) {}

  private static final Logger LOG = LoggerFactory.getLogger(Restorer.class);
  private static final String TABLE = "table";
  private static final String PARTS = "parts";

  private final Tables tables;
  private final Function<String, Tables> foreign;
  private final Components components;
  private final Settings settings;

  /** How to cancel each restore that is under way. */
  private final Set<Runnable> running = ConcurrentHashMap.newKeySet();

  private volatile boolean closed;

  /**
   * Makes a restorer of one kind of table.
   *
   * @param foreign the tables of another format, by its name; throws {@code INCOMPATIBLE} when it
   *     knows none
   */
  public Restorer(
      Tables tables, Function<String, Tables> foreign, Components components, Settings settings) {
    this.tables = tables;
    this.foreign = foreign;
    this.components = components;
    this.settings = settings;
  }

  /**
   * Restores the state of some key groups; blocks until it is there. A failure leaves nothing
   * behind.
   *
   * @param handles of one checkpoint, as many as there are; none for an empty table
   * @param directory of the restored backend; absent or empty
   * @param cache local copies of durable files, looked up and added to
   */
  public Restored restore(
      List<CheckpointHandle> handles,
      KeyGroupRange keyGroups,
      int maxParallelism,
      Path directory,
      Optional<LocalTableFiles> cache) {
    RestorePlan plan = RestorePlan.of(handles, keyGroups, maxParallelism);
    PartFetcher fetcher =
        new PartFetcher(components.store(), components.execution(), cache, settings.rangeBytes());
    Replayer replayer =
        new Replayer(
            plan,
            components.log(),
            components.execution(),
            settings.replayTasks(),
            this::memoryShareBytes);
    Runnable cancel =
        () -> {
          fetcher.cancel();
          replayer.cancel();
        };
    boolean done = false;
    running.add(cancel);
    try {
      if (closed) {
        cancel.run();
      }
      Restored restored = restore(plan, fetcher, replayer, directory);
      done = true;
      return restored;
    } finally {
      running.remove(cancel);
      if (!done) {
        deleteQuietly(directory.resolve(PARTS));
        deleteQuietly(directory.resolve(TABLE));
      }
    }
  }

  /** The subtasks of a process restore at the same time; each adapts as others come and go. */
  private long memoryShareBytes() {
    return settings.memoryBytes() / Math.max(1, running.size());
  }

  /** Restores that are under way fail soon with {@code CLOSED}, as later ones do; any thread. */
  public void close() {
    closed = true;
    running.forEach(Runnable::run);
  }

  private Restored restore(
      RestorePlan plan, PartFetcher fetcher, Replayer replayer, Path directory) {
    Execution execution = components.execution();
    long start = execution.nanoTime();
    Map<Path, Source> sources = new LinkedHashMap<>();
    for (Source source : plan.sources()) {
      sources.put(directory.resolve(PARTS).resolve(String.valueOf(sources.size())), source);
    }
    CompletableFuture<Void> files = fetcher.fetch(sources);
    try {
      // Behind the files in the queue of the same threads: what is needed first comes first.
      replayer.prefetch();
      execution.await(files);
    } catch (RuntimeException | Error e) {
      fetcher.cancel();
      Reads.settle(execution, files);
      throw e;
    }
    long fetched = execution.nanoTime();
    Path tableDirectory = directory.resolve(TABLE);
    makeDirectory(directory);
    Table table = open(plan, sources, tableDirectory);
    long opened = execution.nanoTime();
    Replayer.Replayed replayed = replay(replayer, table, directory.resolve(PARTS));
    long end = execution.nanoTime();
    RestoreReport report =
        new RestoreReport(
            fetcher.filesLinked(),
            fetcher.filesDownloaded(),
            fetcher.bytesDownloaded() + storedBytes(plan),
            replayed.blocks(),
            replayed.changes(),
            millis(start, fetched),
            millis(fetched, opened),
            replayed.time().toMillis(),
            millis(start, end));
    note(plan, report, replayed);
    return new Restored(table, tableDirectory, plan, report, knownFiles(plan));
  }

  private Table open(RestorePlan plan, Map<Path, Source> sources, Path directory) {
    List<TablePart> parts = new ArrayList<>();
    sources.forEach(
        (path, source) ->
            parts.add(new TablePart(source.files().format(), path, source.keyGroups())));
    return tables.open(
        directory, plan.keyGroups(), parts, part -> foreign.apply(part.format()).read(part));
  }

  private static Replayer.Replayed replay(Replayer replayer, Table table, Path parts) {
    Replayer.@Nullable Replayed replayed = null;
    try {
      // The table has taken over what it needs.
      delete(parts);
      replayed = replayer.replay(table);
      return replayed;
    } finally {
      if (replayed == null) {
        table.close();
      }
    }
  }

  private static long storedBytes(RestorePlan plan) {
    long sum = 0;
    for (BlockRead read : plan.reads()) {
      sum += read.block().length();
    }
    return sum;
  }

  private void note(RestorePlan plan, RestoreReport report, Replayer.Replayed replayed) {
    if (plan.key().isEmpty()) {
      return;
    }
    components.speed().measured(replayed.changes(), replayed.bytes(), replayed.time());
    Metrics metrics = components.metrics();
    metrics.histogram("restore.download.millis").record(report.downloadMillis());
    metrics.histogram("restore.open.millis").record(report.openMillis());
    metrics.histogram("restore.replay.millis").record(report.replayMillis());
    metrics.counter("restore.download.bytes").add(report.bytesDownloaded());
    metrics.counter("restore.linked.files").add(report.filesLinked());
    metrics.counter("restore.replayed.changes").add(report.changesReplayed());
    // Last: who sees the total sees its parts too.
    metrics.histogram("restore.total.millis").record(report.totalMillis());
  }

  private static List<TableFile> knownFiles(RestorePlan plan) {
    Map<BlobName, TableFile> known = new LinkedHashMap<>();
    for (Source source : plan.sources()) {
      for (TableFile file : source.files().files()) {
        if (file.immutable()) {
          known.putIfAbsent(file.blob(), file);
        }
      }
    }
    return List.copyOf(known.values());
  }

  private static long millis(long from, long to) {
    return Duration.ofNanos(to - from).toMillis();
  }

  private static void makeDirectory(Path directory) {
    try {
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot make '" + directory + "' for a table: " + e + "; check the local directory", e);
    }
  }

  private static void delete(Path directory) {
    try {
      LocalFiles.deleteTree(directory);
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot delete '" + directory + "' after a restore: " + e, e);
    }
  }

  /** On the way out of a failure, which is what the caller must hear of. */
  private static void deleteQuietly(Path directory) {
    try {
      delete(directory);
    } catch (StateBackendException e) {
      LOG.warn("{}", e.getMessage());
    }
  }
}
