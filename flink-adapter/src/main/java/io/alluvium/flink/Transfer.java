package io.alluvium.flink;

import io.alluvium.spi.BlobName;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ExecutionException;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingSnapshotManager;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.PlaceholderStreamStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.jspecify.annotations.Nullable;

/**
 * Gives one checkpoint the files of the blobs that it names. Used once, by the thread of the
 * checkpoint's asynchronous part, which may be interrupted or have its streams closed.
 */
final class Transfer {

  /** Of one checkpoint; as many as Flink's RocksDB backend has by default. */
  private static final int FILES_AT_ONCE = 4;

  /**
   * Where the files go.
   *
   * @param streams of the checkpoint
   * @param scope of its files
   * @param registry closes the streams when the checkpoint is cancelled
   */
  record Target(
      CheckpointFiles files,
      CheckpointStreamFactory streams,
      CheckpointedStateScope scope,
      CloseableRegistry registry) {

    /** Stores the file that describes the others. */
    StreamStateHandle storeManifest(byte[] manifest) throws IOException {
      return await(
          files.store(
              new CheckpointFiles.File(
                  "the description of a checkpoint",
                  CheckpointFiles.Purpose.MANIFEST,
                  manifest.length,
                  () -> streams.createCheckpointStateOutputStream(CheckpointedStateScope.EXCLUSIVE),
                  out -> out.write(manifest)),
              registry));
    }
  }

  /** Waits for a file. An interrupt ends the wait; the attempts end with the checkpoint. */
  private static StreamStateHandle await(FileAttempts file) throws IOException {
    try {
      return file.stored().get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while a file of a checkpoint was stored", e);
    } catch (ExecutionException e) {
      throw new IOException(
          String.valueOf(e.getCause() == null ? e : e.getCause().getMessage()), e.getCause());
    }
  }

  /**
   * What the checkpoint consists of. Immutable.
   *
   * @param files by name; placeholders for what a completed checkpoint holds
   * @param shared those blobs that share a file with others, with their places
   * @param newBytes how much was written
   */
  record Result(List<HandleAndLocalPath> files, Map<Blob, Place> shared, long newBytes) {}

  /**
   * As many small files of the changelog become one: each stands in Flink's metadata with all its
   * bytes, in every checkpoint until the next materialization.
   */
  private static final int INLINE_FILES = 16;

  private final FlinkBlobStore store;
  private final long checkpointId;
  private final Target target;
  private final Map<String, StreamStateHandle> files = new LinkedHashMap<>();
  private final Map<Blob, Place> places = new LinkedHashMap<>();
  private final List<StreamStateHandle> reused = new ArrayList<>();
  private final List<FileAttempts> written = new ArrayList<>();
  private final Map<Blob, StreamStateHandle> taken = new LinkedHashMap<>();
  private long newBytes;

  Transfer(FlinkBlobStore store, long checkpointId, Target target) {
    this.store = store;
    this.checkpointId = checkpointId;
    this.target = target;
  }

  /** Blocks until all files are stored; a failure leaves none of them behind. */
  Result run(Collection<BlobName> names) throws IOException {
    boolean done = false;
    try {
      List<Blob> logs = new ArrayList<>();
      List<Blob> tables = new ArrayList<>();
      List<Blob> named = store.begin(checkpointId, names);
      boolean joins = inlineFiles(named) >= INLINE_FILES;
      for (Blob blob : named) {
        if ((joins && isInline(blob)) || !reuse(blob)) {
          (blob.name.kind() == BlobName.Kind.LOG ? logs : tables).add(blob);
        }
      }
      writeTables(tables);
      writeLogs(logs);
      places.forEach((blob, place) -> store.give(checkpointId, blob, place));
      target.streams().reusePreviousStateHandle(reused);
      done = true;
    } finally {
      if (!done) {
        undo();
      }
    }
    return result();
  }

  /** The checkpoint came to nothing: its new files go, and what was stored early is ours again. */
  void undo() {
    for (FileAttempts file : written) {
      file.giveUp();
      var unused = file.stored().whenComplete((handle, failure) -> StreamWriter.discard(handle));
    }
    taken.forEach(store::giveBackEarly);
    store.abort(checkpointId);
  }

  private long inlineFiles(List<Blob> named) {
    return named.stream().filter(this::isInline).map(this::fileOf).distinct().count();
  }

  /** A part of the changelog whose bytes are in Flink's metadata, and so at hand. */
  private boolean isInline(Blob blob) {
    Place kept = keptOf(blob);
    return kept != null
        && kept.handle() instanceof ByteStreamStateHandle
        && blob.name.kind() == BlobName.Kind.LOG;
  }

  private String fileOf(Blob blob) {
    Place kept = keptOf(blob);
    return kept == null ? "" : kept.file();
  }

  private @Nullable Place keptOf(Blob blob) {
    synchronized (store) {
      return blob.kept;
    }
  }

  /** Whether the blob needs no new file. */
  private boolean reuse(Blob blob) {
    Place kept = store.keptFor(checkpointId, blob);
    if (kept != null && mayRefer(kept.handle())) {
      StreamStateHandle handle = kept.handle();
      if (files.put(kept.file(), placeholder(handle)) == null) {
        reused.add(handle);
      }
      places.put(blob, kept);
      return true;
    }
    StreamStateHandle early = store.takeEarly(blob);
    if (early != null) {
      taken.put(blob, early);
      String file = blob.name.toString();
      files.put(file, early);
      places.put(blob, new Place(file, early, 0));
      newBytes += blob.sizeBytes;
      return true;
    }
    return false;
  }

  /**
   * Whether a checkpoint may refer to a file of an older one. Flink's file merging says no to all
   * files that it has not merged itself; but one with a file of its own, as of a materialization,
   * is the JobManager's to keep and to delete, and storing whole tables again for each checkpoint
   * would be for nothing.
   */
  private boolean mayRefer(StreamStateHandle handle) {
    return !FileMergingSnapshotManager.isFileMergingHandle(handle)
        || target.streams().couldReuseStateHandle(handle);
  }

  private static StreamStateHandle placeholder(StreamStateHandle handle) {
    return handle instanceof PlaceholderStreamStateHandle
        ? handle
        : new PlaceholderStreamStateHandle(
            handle.getStreamStateHandleID(),
            handle.getStateSize(),
            FileMergingSnapshotManager.isFileMergingHandle(handle));
  }

  /** A file for each, several at once. */
  private void writeTables(List<Blob> tables) throws IOException {
    Queue<FileAttempts> underWay = new ArrayDeque<>();
    int next = 0;
    for (Blob blob : tables) {
      while (next < tables.size() && underWay.size() < FILES_AT_ONCE) {
        underWay.add(write(CheckpointFiles.Purpose.MATERIALIZATION, List.of(tables.get(next++))));
      }
      placed(List.of(blob), await(underWay.remove()));
    }
  }

  /** One file for all of them. */
  private void writeLogs(List<Blob> logs) throws IOException {
    if (!logs.isEmpty()) {
      placed(logs, await(write(CheckpointFiles.Purpose.LOG, logs)));
    }
  }

  private void placed(List<Blob> blobs, StreamStateHandle handle) {
    String file = blobs.get(0).name.toString();
    files.put(file, handle);
    long offset = 0;
    for (Blob blob : blobs) {
      places.put(blob, new Place(file, handle, offset));
      offset += blob.sizeBytes;
    }
    newBytes += offset;
  }

  private FileAttempts write(CheckpointFiles.Purpose purpose, List<Blob> blobs) {
    FileAttempts stored =
        target
            .files()
            .store(
                new CheckpointFiles.File(
                    blobs.get(0).name.toString(),
                    purpose,
                    blobs.stream().mapToLong(blob -> blob.sizeBytes).sum(),
                    () -> target.streams().createCheckpointStateOutputStream(target.scope()),
                    out -> writeAll(blobs, out)),
                target.registry());
    written.add(stored);
    return stored;
  }

  private void writeAll(List<Blob> blobs, OutputStream out) throws IOException {
    for (Blob blob : blobs) {
      store.writeTo(blob, out);
    }
  }

  private Result result() {
    List<HandleAndLocalPath> all = new ArrayList<>(files.size());
    files.forEach((file, handle) -> all.add(HandleAndLocalPath.of(handle, file)));
    Map<Blob, Place> shared = new LinkedHashMap<>();
    places.forEach(
        (blob, place) -> {
          @Nullable StreamStateHandle handle = place.handle();
          boolean alone =
              place.offset() == 0
                  && place.file().equals(blob.name.toString())
                  && handle.getStateSize() == blob.sizeBytes;
          if (!alone) {
            shared.put(blob, place);
          }
        });
    return new Result(all, shared, newBytes);
  }
}
