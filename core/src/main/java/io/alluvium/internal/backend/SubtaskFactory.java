package io.alluvium.internal.backend;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.RestoreMode;
import io.alluvium.RestoreReport;
import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.config.CoreOptions;
import io.alluvium.internal.arguments.Arguments;
import io.alluvium.internal.backend.ByteSubtask.ChangelogMode;
import io.alluvium.internal.files.LocalFiles;
import io.alluvium.internal.materialize.Bases;
import io.alluvium.internal.materialize.MaterializationMetrics;
import io.alluvium.internal.materialize.TableMaterializer;
import io.alluvium.internal.materialize.TableUploader;
import io.alluvium.internal.materialize.UploadPacer;
import io.alluvium.internal.restore.LocalFileCache;
import io.alluvium.internal.restore.RestorePlan;
import io.alluvium.internal.restore.Restored;
import io.alluvium.internal.restore.Restorer;
import io.alluvium.internal.state.Codec;
import io.alluvium.internal.state.StateRegistry;
import io.alluvium.serializer.Serializer;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.LocalTableFiles;
import io.alluvium.spi.TableFile;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes the backends of subtasks, empty or restored. Thread-safe. */
final class SubtaskFactory {

  private static final Logger LOG = LoggerFactory.getLogger(SubtaskFactory.class);

  /** What a caller asks for. */
  record Request(
      int maxParallelism,
      KeyGroupRange keyGroups,
      List<CheckpointHandle> restoreFrom,
      RestoreMode mode) {
    Request {
      Arguments.check(keyGroups, "keyGroups");
      Arguments.check(mode, "mode");
      restoreFrom = Arguments.copy(restoreFrom, "restoreFrom");
    }
  }

  private final Configuration configuration;
  private final ProcessParts process;
  private final CheckpointMetrics checkpointMetrics;
  private final MaterializationMetrics materializationMetrics;
  private final AtomicLong changelogIds = new AtomicLong();

  @GuardedBy("this")
  private @Nullable Restorer restorer;

  @GuardedBy("this")
  private boolean restoresCancelled;

  SubtaskFactory(Configuration configuration, ProcessParts process) {
    this.configuration = configuration;
    this.process = process;
    this.checkpointMetrics =
        new CheckpointMetrics(process.execution(), process.metrics(), process.replaySpeed());
    this.materializationMetrics =
        new MaterializationMetrics(process.execution(), process.metrics());
  }

  /** Makes a backend with typed states; blocks while it is restored. */
  <K> Opened<SubtaskBackend<K>> keyed(Request request, Serializer<K> key) {
    return open(
        request,
        (bytes, writes, restored) -> {
          restored.key().ifPresent(written -> checkKeyFormat(key, written));
          KeyContext<K> keys = new KeyContext<>(key, request.maxParallelism(), request.keyGroups());
          SubtaskBackend<K> typed =
              new SubtaskBackend<>(
                  bytes, keys, new StateRegistry<>(writes, keys, restored.states()));
          return new Opened<>(bytes, typed);
        });
  }

  /** Makes a backend that is used as it is; blocks while it is restored. */
  Opened<ByteSubtask> bytes(Request request) {
    return open(request, (bytes, writes, restored) -> new Opened<>(bytes, bytes));
  }

  /** A backend and what callers see of it; closing the bytes closes both. */
  record Opened<T>(ByteSubtask bytes, T facade) {}

  private interface Facade<T> {
    Opened<T> over(ByteSubtask bytes, WritePath writes, RestorePlan restored);
  }

  /** A failure leaves nothing behind. */
  private <T> Opened<T> open(Request request, Facade<T> facade) {
    // Names of blobs need an owner; without one there is nothing to write under.
    Object unused = process.names().incarnation();
    checkKeyGroups(request);
    Closing.Stack opened = new Closing.Stack();
    boolean done = false;
    try {
      Path directory = process.directories().table(request.keyGroups());
      opened.push(() -> delete(directory));
      Optional<LocalTableFiles> cache = cache(request.keyGroups());
      Restored restored =
          restorer()
              .restore(
                  request.restoreFrom(),
                  request.keyGroups(),
                  request.maxParallelism(),
                  directory,
                  cache);
      opened.push(restored.table()::close);
      Changelog changelog = changelog(request.keyGroups(), restored.plan().startSqn());
      opened.push(changelog::close);
      WritePath writes = new WritePath(restored.table(), changelog);
      UploadPacer.Share share = process.uploadShare();
      opened.push(share::close);
      ByteSubtask subtask =
          assemble(request, restored, writes, new Own(changelog, share, directory, cache));
      Opened<T> seen = facade.over(subtask, writes, restored.plan());
      subtask.start(process::registerLive);
      process.made(request.keyGroups(), request.restoreFrom());
      done = true;
      return seen;
    } finally {
      if (!done) {
        opened.close();
      }
    }
  }

  /** What a backend is given of its own. */
  private record Own(
      Changelog changelog,
      UploadPacer.Share share,
      Path directory,
      Optional<LocalTableFiles> cache) {}

  private Changelog changelog(KeyGroupRange keyGroups, long startSqn) {
    return mode() == ChangelogMode.ENABLED
        ? process.log().open(changelogIds.getAndIncrement(), keyGroups, startSqn)
        : new DisabledChangelog(startSqn);
  }

  private ChangelogMode mode() {
    return configuration.get(CoreOptions.CHANGELOG_ENABLED)
        ? ChangelogMode.ENABLED
        : ChangelogMode.DISABLED;
  }

  private static void checkKeyGroups(Request request) {
    if (request.keyGroups().isEmpty()
        || request.maxParallelism() > KeyGroupRange.MAX_KEY_GROUPS
        || request.keyGroups().to() > request.maxParallelism()) {
      throw StateBackendException.invalid(
          "key-group range "
              + request.keyGroups()
              + " must not be empty and must lie within [0, "
              + request.maxParallelism()
              + "), the maximum parallelism, which is at most "
              + KeyGroupRange.MAX_KEY_GROUPS);
    }
  }

  private Optional<LocalTableFiles> cache(KeyGroupRange keyGroups) {
    if (process.hosted().isPresent()) {
      return process.hosted().get().localFiles();
    }
    if (configuration.get(CoreOptions.LOCAL_RECOVERY)) {
      return Optional.of(
          new LocalFileCache(process.directories().recovery(process.chain(), keyGroups)));
    }
    process.ownedChain().ifPresent(own -> process.directories().forgetRecovery(own, keyGroups));
    return Optional.empty();
  }

  /** Restores that are under way, and those that begin later, fail soon with {@code CLOSED}. */
  synchronized void cancelRestores() {
    restoresCancelled = true;
    if (restorer != null) {
      restorer.close();
    }
  }

  /** One for all subtasks, which share its bound on memory. */
  private synchronized Restorer restorer() {
    if (restorer == null) {
      restorer =
          new Restorer(
              process.tablesOfFormat(process.format()),
              process::tablesOfFormat,
              new Restorer.Components(
                  process.store(),
                  process.log(),
                  process.execution(),
                  process.metrics(),
                  process.replaySpeed()),
              Restorer.Settings.ofThisMachine());
      if (restoresCancelled) {
        restorer.close();
      }
    }
    return restorer;
  }

  private ByteSubtask assemble(Request request, Restored restored, WritePath writes, Own own) {
    boolean reuse = request.mode() == RestoreMode.REUSE;
    long start = restored.plan().startSqn();
    Bases bases =
        new Bases(
            process.format(),
            request.keyGroups(),
            reuse ? Optional.of(new Bases.Base(start, restored.plan().parts())) : Optional.empty());
    TableUploader uploader =
        new TableUploader(
            process.store(),
            process.names(),
            own.cache().map(SubtaskFactory::keeper).orElse(TableUploader.Keeper.NONE),
            reuse ? restored.knownFiles() : List.of());
    PendingCheckpoints pending = new PendingCheckpoints(bases, own.changelog()::trim);
    TableMaterializer materializer =
        new TableMaterializer(
            new TableMaterializer.Target(
                "backend of key groups " + request.keyGroups(),
                restored.table(),
                own.directory(),
                writes::appliedUpTo,
                restored.plan().reads().isEmpty() ? start : -1,
                bases,
                uploader,
                own.share(),
                () -> {
                  pending.trim();
                  process.whenMaterialized().run();
                }),
            policy(),
            process.execution(),
            process.random(),
            materializationMetrics);
    return new ByteSubtask(
        new ByteSubtask.Parts(
            restored.table(), own.changelog(), writes, bases, pending, materializer),
        new ByteSubtask.Context(
            request.keyGroups(),
            request.maxParallelism(),
            mode(),
            restored.report(),
            process.execution(),
            checkpointMetrics,
            materializeWithin(restored.report()),
            this::replaysTooLong,
            () -> delete(own.directory())));
  }

  /**
   * A backend whose replay took long materializes soon, or a second failure would take as long
   * again.
   */
  private Duration materializeWithin(RestoreReport report) {
    Duration interval = configuration.get(CoreOptions.MATERIALIZE_INTERVAL);
    Duration objective = configuration.get(CoreOptions.RESTORE_TIME_OBJECTIVE);
    boolean tookLong = !objective.isZero() && 2 * report.replayMillis() > objective.toMillis();
    return tookLong ? objective : interval;
  }

  private TableMaterializer.Policy policy() {
    return new TableMaterializer.Policy(
        configuration.get(CoreOptions.MATERIALIZE_INTERVAL),
        configuration.get(CoreOptions.MATERIALIZE_FAILURES_ALLOWED));
  }

  private static <K> void checkKeyFormat(Serializer<K> serializer, SerializerSnapshot written) {
    if (Codec.readerOf(serializer, written).filter(reader -> reader == serializer).isEmpty()) {
      throw StateBackendException.incompatible(
          "the keys of the checkpoint were written as "
              + written
              + " and cannot be read as "
              + serializer.snapshot()
              + "; keys cannot be migrated, use a serializer of the same format");
    }
  }

  /** What is durable is so without a local copy; only the next restore takes longer. */
  private static TableUploader.Keeper keeper(LocalTableFiles cache) {
    return new TableUploader.Keeper() {
      @Override
      public void stored(Path local, TableFile file) {
        warned(() -> cache.add(local, file));
      }

      @Override
      public void retain(List<TableFile> files) {
        warned(() -> cache.retain(files));
      }
    };
  }

  private static void warned(Runnable caching) {
    try {
      caching.run();
    } catch (StateBackendException e) {
      LOG.warn("{}", e.getMessage());
    }
  }

  private boolean replaysTooLong(long changelogBytes) {
    Duration objective = configuration.get(CoreOptions.RESTORE_TIME_OBJECTIVE);
    return !objective.isZero()
        && process.replaySpeed().estimate(changelogBytes).compareTo(objective) > 0;
  }

  private static void delete(Path directory) {
    try {
      LocalFiles.deleteTree(directory);
    } catch (IOException e) {
      LOG.warn("cannot delete the local directory '{}': {}", directory, e.getMessage());
    }
  }
}
