package io.alluvium.flink;

import io.alluvium.CheckpointHandle;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.bytes.ByteBackend;
import io.alluvium.flink.rocksdb.RocksDbInFlink;
import io.alluvium.flink.rocksdb.RocksDbMemory;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.RetryPolicy;
import io.alluvium.spi.TableProvider;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.BackendBuildingException;
import org.apache.flink.runtime.state.InternalKeyContextImpl;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.SnapshotExecutionType;
import org.apache.flink.runtime.state.StateBackend.KeyedStateBackendParameters;
import org.apache.flink.runtime.state.StateSerializerProvider;
import org.apache.flink.runtime.state.metrics.LatencyTrackingStateConfig;
import org.apache.flink.runtime.state.metrics.SizeTrackingStateConfig;
import org.apache.flink.util.IOUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes one keyed backend, empty or restored; a failure leaves nothing behind. Used once, on the
 * task thread.
 */
final class KeyedBackendBuilder<K> {

  /** Flink's measurements of state access, as configured. */
  record Tracking(LatencyTrackingStateConfig latency, SizeTrackingStateConfig size) {}

  /**
   * What a test puts between the backend and what it stands on.
   *
   * @param bytes around the state of the subtask
   * @param execution around time and threads of the clean-up
   */
  record Between(UnaryOperator<ByteBackend> bytes, UnaryOperator<Execution> execution) {
    static final Between NOTHING = new Between(bytes -> bytes, execution -> execution);
  }

  private static final Logger LOG = LoggerFactory.getLogger(KeyedBackendBuilder.class);
  private static final OncePerJob SMALL_MEMORY = new OncePerJob();
  private static final OncePerJob SHORT_INTERVAL = new OncePerJob();

  private final Settings settings;
  private final KeyedStateBackendParameters<K> parameters;
  private final Tracking tracking;
  private final Between between;
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final StateCatalog states = new StateCatalog();

  KeyedBackendBuilder(
      Settings settings,
      KeyedStateBackendParameters<K> parameters,
      Tracking tracking,
      Between between) {
    this.between = between;
    this.settings = settings.ofSubtasks(subtasks(parameters.getEnv()));
    this.parameters = parameters;
    this.tracking = tracking;
  }

  private static int subtasks(Environment env) {
    return env.getTaskInfo().getNumberOfParallelSubtasks();
  }

  AlluviumKeyedStateBackend<K> build() throws IOException {
    tellInterval();
    boolean done = false;
    try {
      AlluviumKeyedStateBackend<K> backend = open();
      done = true;
      return backend;
    } catch (IOException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new BackendBuildingException("cannot make a keyed backend: " + e.getMessage(), e);
    } finally {
      if (!done) {
        IOUtils.closeAllQuietly(opened);
      }
    }
  }

  private void tellInterval() {
    MaterializationInterval interval = settings.interval();
    Duration own = interval.of(subtasks(parameters.getEnv()));
    if (!own.equals(interval.wanted()) && SHORT_INTERVAL.isFirst(parameters.getJobID())) {
      LOG.info(
          "Job {}: operator {} with {} subtasks materializes every {} instead of every {}, or its"
              + " checkpoints would name more than {} pieces of the log ('{}')",
          parameters.getJobID(),
          parameters.getOperatorIdentifier(),
          subtasks(parameters.getEnv()),
          own,
          interval.wanted(),
          interval.maxPieces(),
          AlluviumOptions.MAX_PIECES.key());
    }
  }

  private AlluviumKeyedStateBackend<K> open() throws Exception {
    SharedResources.Threads shared =
        SharedResources.threads(
            settings,
            parameters
                .getEnv()
                .getTaskManagerInfo()
                .getConfiguration()
                .get(TaskManagerOptions.NUM_TASK_SLOTS));
    Execution threads = shared.execution();
    opened.push(SharedResources::releaseThreads);
    FlinkMetrics metrics =
        new FlinkMetrics(parameters.getMetricGroup(), parameters.getCustomInitializationMetrics());
    TableProvider.Tables tables = tables(shared, metrics.ofCore());
    Directories directories = directories();
    opened.push(directories);
    LocalRecoveryConfig localRecovery =
        parameters.getEnv().getTaskStateManager().createLocalRecoveryConfig();
    FlinkBlobStore store =
        new FlinkBlobStore(
            directories.blobs(),
            localRecovery.isLocalBackupEnabled()
                ? FlinkBlobStore.Copies.KEPT
                : FlinkBlobStore.Copies.DROPPED,
            shared.files());
    opened.push(store);
    SecureRandom random = new SecureRandom();
    StateBackend process =
        SharedResources.withOwnClassLoader(
            () ->
                StateBackend.open(
                    settings.with(
                        "state.backend.rocksdb.localdir", directories.tables().toString()),
                    new Components(
                        Optional.of(store),
                        Optional.of(threads),
                        random,
                        metrics.ofCore(),
                        Optional.of(
                            new Components.Host(
                                new Names(random),
                                tables,
                                store::collect,
                                Optional.of(new TableCopies(store)))))));
    opened.push(process);
    StateSerializerProvider<K> keySerializer =
        StateSerializerProvider.fromNewRegisteredSerializer(parameters.getKeySerializer());
    ByteBackend bytes = between.bytes().apply(restore(process, store, keySerializer));
    store.setLive(bytes::liveBlobs);
    Queries queries = new Queries();
    opened.push(queries);
    Access<K> access =
        new Access<>(
            bytes,
            keySerializer.currentSchemaSerializer(),
            parameters.getNumberOfKeyGroups(),
            queries);
    CheckpointFiles files =
        new CheckpointFiles(
            threads,
            shared.files(),
            RetryPolicy.of(SharedResources.configuration(settings.core())),
            random,
            new StoreMetrics(metrics));
    TaskOwnedUploads early =
        new TaskOwnedUploads(
            parameters.getEnv()::getCheckpointStorageAccess,
            threads,
            files.threads(),
            files.metrics());
    store.setEarlyUploads(early);
    Snapshots snapshots =
        new Snapshots(
            new Snapshots.Parts(bytes, store, early, files, directories, localRecovery),
            UUID.randomUUID(),
            parameters.getKeyGroupRange(),
            settings);
    opened.push(snapshots);
    return new AlluviumKeyedStateBackend<>(
        new AlluviumKeyedStateBackend.Flink<>(
            parameters,
            tracking,
            new InternalKeyContextImpl<>(
                parameters.getKeyGroupRange(), parameters.getNumberOfKeyGroups()),
            AbstractStateBackend.getCompressionDecorator(parameters.getEnv().getExecutionConfig()),
            // Only RocksDB can be read beside the task.
            settings.onHeap()
                ? SnapshotExecutionType.SYNCHRONOUS
                : SnapshotExecutionType.ASYNCHRONOUS,
            new EndOfTask(parameters.getEnv(), shared.files()),
            new Sweeper(
                new Sweeper.Parts(
                    bytes,
                    parameters.getTtlTimeProvider(),
                    between.execution().apply(threads),
                    EndOfTask.mailbox(parameters.getEnv()),
                    metrics.counter("ttl.removed.count")::add))),
        access,
        states,
        snapshots,
        opened);
  }

  /** Each keyed backend has tables of its own; RocksDB's memory is shared below them. */
  private TableProvider.Tables tables(SharedResources.Threads shared, Metrics metrics)
      throws Exception {
    if (!settings.onRocksDb()) {
      return opened(SharedResources.openTables(settings, shared.execution(), metrics));
    }
    RocksDbMemory memory =
        opened(
            RocksDbMemory.lease(
                settings.memory(), parameters.getEnv(), parameters.getManagedMemoryFraction()));
    memory
        .remark()
        .filter(unused -> SMALL_MEMORY.isFirst(parameters.getJobID()))
        .ifPresent(remark -> LOG.warn("Job {}: {}", parameters.getJobID(), remark));
    return opened(
        RocksDbInFlink.open(
            new RocksDbInFlink.Surroundings(
                SharedResources.configuration(
                    settings.withPartitionedIndex(memory.partitionedIndex())),
                shared.execution(),
                metrics),
            memory,
            settings.rocksDb(),
            parameters.getMetricGroup(),
            () -> shared.diskChecked().compareAndSet(false, true)));
  }

  private <T extends AutoCloseable> T opened(T resource) {
    opened.push(resource);
    return resource;
  }

  private Directories directories() throws IOException {
    Environment env = parameters.getEnv();
    String given = settings.core().get("state.backend.rocksdb.localdir");
    String[] roots =
        given != null
            ? given.split(",|" + File.pathSeparator, -1)
            : env.getIOManager().getSpillingDirectoriesPaths();
    int index =
        Math.floorMod(parameters.getKeyGroupRange().getStartKeyGroup(), Math.max(1, roots.length));
    String name =
        "job_"
            + parameters.getJobID()
            + "_op_"
            + parameters.getOperatorIdentifier().replaceAll("[^a-zA-Z0-9_-]", "_")
            + "__uuid_"
            + UUID.randomUUID();
    return new Directories(Path.of(roots[index].trim()).resolve(name));
  }

  private ByteBackend restore(
      StateBackend process, FlinkBlobStore store, StateSerializerProvider<K> keySerializer)
      throws Exception {
    List<KeyedStateHandle> handles =
        parameters.getStateHandles().stream().filter(Objects::nonNull).toList();
    KeyGroupRange keyGroups =
        new KeyGroupRange(
            parameters.getKeyGroupRange().getStartKeyGroup(),
            parameters.getKeyGroupRange().getEndKeyGroup() + 1);
    int numberOfKeyGroups = parameters.getNumberOfKeyGroups();
    ClassLoader userLoader = parameters.getEnv().getUserCodeClassLoader().asClassLoader();
    if (!handles.isEmpty() && handles.get(0) instanceof KeyGroupsStateHandle) {
      ByteBackend bytes =
          process.bytes(numberOfKeyGroups, keyGroups, List.of(), RestoreMode.DETACHED);
      new CanonicalRestore<>(bytes, states, keySerializer, numberOfKeyGroups)
          .run(parameters.getKeyGroupRange(), userLoader, handles);
      return bytes;
    }
    OwnRestore<K> restore = new OwnRestore<>(store, states, keySerializer, userLoader);
    List<CheckpointHandle> own = restore.read(handles, keyGroups);
    return process.bytes(numberOfKeyGroups, keyGroups, own, restore.mode());
  }

  /** What {@link #build} opened, for the backend to close in reverse. */
  static void closeAll(Collection<AutoCloseable> opened) {
    IOUtils.closeAllQuietly(new ArrayList<>(opened));
  }
}
