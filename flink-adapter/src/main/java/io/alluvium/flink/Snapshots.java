package io.alluvium.flink;

import io.alluvium.CheckpointHandle;
import io.alluvium.StateBackendException;
import io.alluvium.bytes.ByteBackend;
import io.alluvium.spi.BlobName;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.SnapshotType.SharingFilesStrategy;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.DirectoryStateHandle;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedBackendSerializationProxy;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.LocalSnapshotDirectoryProvider;
import org.apache.flink.runtime.state.SnapshotResources;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategy;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.util.FileUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The checkpoints and native savepoints of one keyed backend. {@link #begin} is confined to the
 * task thread, the rest is thread-safe.
 */
final class Snapshots implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Snapshots.class);

  /** What snapshots are made of and where they go. */
  record Parts(
      ByteBackend bytes,
      FlinkBlobStore store,
      TaskOwnedUploads early,
      CheckpointFiles files,
      Directories directories,
      LocalRecoveryConfig localRecovery) {}

  /*
   * Flink numbers checkpoints and savepoints together and may repeat a number after a failure; core wants numbers that
   * increase. Hence a count of our own, and a map between the two for the verdicts.
   */
  private final Parts parts;
  private final UUID backendId;
  private final KeyGroupRange keyGroups;
  private final boolean changelog;
  private final TreeMap<Long, Long> coreIds = new TreeMap<>();
  private long lastCoreId;
  private volatile boolean stored;
  private volatile boolean closed;

  Snapshots(Parts parts, UUID backendId, KeyGroupRange keyGroups, Settings settings) {
    this.parts = parts;
    this.backendId = backendId;
    this.keyGroups = keyGroups;
    this.changelog = settings.changelogEnabled();
  }

  /**
   * The strategy of one snapshot.
   *
   * @param described formats of keys and states; made in the synchronous part, written later
   */
  SnapshotStrategy<KeyedStateHandle, Running> strategy(
      CheckpointOptions options, Supplier<KeyedBackendSerializationProxy<?>> described) {
    SharingFilesStrategy sharing = options.getCheckpointType().getSharingFilesStrategy();
    return new SnapshotStrategy<>() {
      @Override
      public Running syncPrepareResources(long checkpointId) throws Exception {
        return begin(checkpointId, sharing, described.get());
      }

      @Override
      public SnapshotResultSupplier<KeyedStateHandle> asyncSnapshot(
          Running running,
          long checkpointId,
          long timestamp,
          CheckpointStreamFactory streams,
          CheckpointOptions unused) {
        return registry -> running.finish(streams, registry);
      }
    };
  }

  private Running begin(
      long checkpointId, SharingFilesStrategy sharing, KeyedBackendSerializationProxy<?> described)
      throws IOException {
    if (sharing == SharingFilesStrategy.NO_SHARING) {
      Path directory = parts.directories.savepoint(checkpointId);
      FlinkBlobStore place =
          new FlinkBlobStore(directory, FlinkBlobStore.Copies.DROPPED, parts.files.threads());
      return new Running(
          checkpointId,
          0,
          place,
          described,
          parts.bytes.copy(checkpointId, place),
          () -> {
            place.close();
            FileUtils.deleteDirectoryQuietly(directory.toFile());
          });
    }
    boolean anew = sharing == SharingFilesStrategy.FORWARD;
    TaskOwnedUploads.AutoCloseableQuietly awaited =
        parts.early.await(
            anew || !changelog || !stored
                ? TaskOwnedUploads.Awaited.TABLE
                : TaskOwnedUploads.Awaited.LOG);
    boolean begun = false;
    try {
      long coreId = ++lastCoreId;
      CompletableFuture<CheckpointHandle> handle =
          anew ? parts.bytes.checkpointAnew(coreId) : parts.bytes.checkpoint(coreId);
      synchronized (coreIds) {
        coreIds.put(checkpointId, coreId);
      }
      parts.store.announce(checkpointId);
      begun = true;
      return new Running(checkpointId, coreId, parts.store, described, handle, awaited::close);
    } finally {
      if (!begun) {
        awaited.close();
      }
    }
  }

  /** One snapshot between its two parts. Confined to one thread at a time. */
  final class Running implements SnapshotResources {

    private final long checkpointId;
    private final long coreId;
    private final FlinkBlobStore store;
    private final KeyedBackendSerializationProxy<?> described;
    private final CompletableFuture<CheckpointHandle> handle;
    private final Runnable onRelease;
    private final long syncedNanos = parts.files.execution().nanoTime();
    private boolean finished;
    private boolean released;

    Running(
        long checkpointId,
        long coreId,
        FlinkBlobStore store,
        KeyedBackendSerializationProxy<?> described,
        CompletableFuture<CheckpointHandle> handle,
        Runnable onRelease) {
      this.checkpointId = checkpointId;
      this.coreId = coreId;
      this.store = store;
      this.described = described;
      this.handle = handle;
      this.onRelease = onRelease;
    }

    private boolean isSavepoint() {
      return coreId == 0;
    }

    SnapshotResult<KeyedStateHandle> finish(
        CheckpointStreamFactory streams, CloseableRegistry registry) throws Exception {
      CheckpointHandle durable = await(registry);
      Transfer.Target target =
          new Transfer.Target(
              parts.files,
              streams,
              isSavepoint() ? CheckpointedStateScope.EXCLUSIVE : CheckpointedStateScope.SHARED,
              registry);
      Transfer transfer = new Transfer(store, checkpointId, target);
      Transfer.Result transferred = transfer.run(durable.blobs());
      try {
        SnapshotResult<KeyedStateHandle> result = describe(durable, transferred, target);
        finished = true;
        parts
            .files
            .metrics()
            .checkpointStored((parts.files.execution().nanoTime() - syncedNanos) / 1000);
        return result;
      } finally {
        if (!finished) {
          transfer.undo();
        }
      }
    }

    private SnapshotResult<KeyedStateHandle> describe(
        CheckpointHandle durable, Transfer.Result transferred, Transfer.Target target)
        throws IOException {
      DataOutputSerializer flink = new DataOutputSerializer(256);
      described.write(flink);
      byte[] meta = MetaFormat.encode(durable, transferred.shared(), flink.getCopyOfBuffer());
      StreamStateHandle metaHandle = target.storeManifest(meta);
      IncrementalRemoteKeyedStateHandle remote =
          new IncrementalRemoteKeyedStateHandle(
              backendId,
              keyGroups,
              checkpointId,
              isSavepoint() ? List.of() : transferred.files(),
              isSavepoint() ? transferred.files() : List.of(),
              metaHandle,
              transferred.newBytes() + metaHandle.getStateSize());
      return withLocal(remote, durable, transferred, meta);
    }

    private CheckpointHandle await(CloseableRegistry registry) throws Exception {
      CompletableFuture<CheckpointHandle> waiter = handle.copy();
      // Closing the registry, as a cancellation does, must wake this thread.
      Closeable wake = () -> waiter.cancel(false);
      registry.registerCloseable(wake);
      try {
        return waiter.get();
      } catch (ExecutionException e) {
        throw e.getCause() instanceof StateBackendException known ? known : e;
      } catch (CancellationException e) {
        throw new IOException("checkpoint " + checkpointId + " was cancelled", e);
      } finally {
        registry.unregisterCloseable(wake);
      }
    }

    /**
     * Beside what is stored, the copies that are here. What has none, such as a log that was read
     * from storage at the restore, is read there again.
     */
    private SnapshotResult<KeyedStateHandle> withLocal(
        IncrementalRemoteKeyedStateHandle remote,
        CheckpointHandle durable,
        Transfer.Result transferred,
        byte[] meta) {
      LocalSnapshotDirectoryProvider provider =
          isSavepoint() || !parts.localRecovery.isLocalBackupEnabled()
              ? null
              : parts.localRecovery.getLocalStateDirectoryProvider().orElse(null);
      if (provider == null) {
        return SnapshotResult.of(remote);
      }
      Path directory = provider.subtaskSpecificCheckpointDirectory(checkpointId).toPath();
      try {
        Files.createDirectories(directory);
        for (BlobName blob : durable.blobs()) {
          store.copyTo(blob, directory);
        }
        // A copy of its own: Flink discards the local state's meta file with it.
        Path metaFile = Files.write(directory.resolve("meta"), meta);
        return SnapshotResult.withLocalState(
            remote,
            new IncrementalLocalKeyedStateHandle(
                backendId,
                checkpointId,
                DirectoryStateHandle.forPathWithSize(directory),
                keyGroups,
                new FileStateHandle(
                    new org.apache.flink.core.fs.Path(metaFile.toUri()), meta.length),
                transferred.readable()));
      } catch (IOException e) {
        LOG.warn("no local copy of checkpoint {}: {}", checkpointId, e.toString());
        FileUtils.deleteDirectoryQuietly(directory.toFile());
        return SnapshotResult.of(remote);
      }
    }

    /** Comes after {@link #finish}, or without it, possibly from another thread. */
    @Override
    public void release() {
      synchronized (this) {
        if (released) {
          return;
        }
        released = true;
      }
      onRelease.run();
      if (!finished && !isSavepoint()) {
        aborted(checkpointId);
      }
    }
  }

  /** The checkpoint is complete; older ones without a verdict will get none. */
  void completed(long checkpointId) {
    Long coreId;
    synchronized (coreIds) {
      coreId = coreIds.get(checkpointId);
      if (coreId != null) {
        coreIds.headMap(checkpointId, true).clear();
      }
    }
    if (coreId != null && !closed) {
      stored = true;
      parts.store.confirm(checkpointId);
      parts.bytes.confirm(coreId);
      parts.store.collect();
    }
  }

  /** The checkpoint came to nothing. */
  void aborted(long checkpointId) {
    Long coreId;
    synchronized (coreIds) {
      coreId = coreIds.remove(checkpointId);
    }
    if (coreId != null && !closed) {
      parts.store.abort(checkpointId);
      parts.bytes.abort(coreId);
      parts.store.collect();
    }
  }

  /** Stops early uploads; checkpoints under way fail with the backend. Idempotent. */
  @Override
  public void close() {
    closed = true;
    parts.early.close();
  }
}
