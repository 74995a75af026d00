package io.alluvium.flink;

import io.alluvium.spi.BlobName;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ExecutionException;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingSnapshotManager;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.PhysicalStateHandleID;
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
   * @param files with their names; placeholders for what a completed checkpoint holds
   * @param readable the same, without placeholders
   * @param shared those blobs that share a file with others
   * @param newBytes how much was written
   */
  record Result(
      List<HandleAndLocalPath> files,
      List<HandleAndLocalPath> readable,
      List<MetaFormat.SharedBlob> shared,
      long newBytes) {}

  /**
   * A file of the checkpoint.
   *
   * @param name of the first blob that was found in it; no other file can have it
   * @param reported to Flink
   */
  private record Named(String name, StreamStateHandle handle, StreamStateHandle reported) {}

  /**
   * As many small files of the changelog become one: each stands in Flink's metadata with all its
   * bytes, in every checkpoint until the next materialization.
   */
  private static final int INLINE_FILES = 16;

  /**
   * Or when all but the largest have as many bytes, which is Flink's default of the longest one.
   */
  private static final long INLINE_BYTES = 20 << 10;

  private final FlinkBlobStore store;
  private final long checkpointId;
  private final Target target;

  /*
   * By the identity of the file. Two files may well begin with the same blob: subtasks that were one share parts of its
   * log, and each may have joined them to a file of its own before they become one again.
   */
  private final Map<PhysicalStateHandleID, Named> files = new LinkedHashMap<>();

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
      boolean joins = joinsInline(named);
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
      var unused = file.stored().thenAccept(store::discard);
    }
    taken.forEach(store::giveBackEarly);
    store.abort(checkpointId);
  }

  private boolean joinsInline(List<Blob> named) {
    Map<PhysicalStateHandleID, Long> sizes = new HashMap<>();
    for (Blob blob : named) {
      if (isInline(blob)) {
        StreamStateHandle handle = Objects.requireNonNull(keptOf(blob)).handle();
        sizes.put(handle.getStreamStateHandleID(), handle.getStateSize());
      }
    }
    long sum = sizes.values().stream().mapToLong(Long::longValue).sum();
    long largest = sizes.values().stream().mapToLong(Long::longValue).max().orElse(0);
    return sizes.size() >= INLINE_FILES || sum - largest >= INLINE_BYTES;
  }

  /** A part of the changelog whose bytes are in Flink's metadata, and so at hand. */
  private boolean isInline(Blob blob) {
    Place kept = keptOf(blob);
    return kept != null
        && kept.handle() instanceof ByteStreamStateHandle
        && blob.name.kind() == BlobName.Kind.LOG;
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
      if (place(blob, kept, placeholder(handle))) {
        reused.add(handle);
      }
      return true;
    }
    StreamStateHandle early = store.takeEarly(blob);
    if (early != null) {
      taken.put(blob, early);
      boolean unused = place(blob, new Place(early, 0), early);
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
    long offset = 0;
    for (Blob blob : blobs) {
      boolean unused = place(blob, new Place(handle, offset), handle);
      offset += blob.sizeBytes;
    }
    newBytes += offset;
  }

  /** Returns whether the file is new to the checkpoint. */
  private boolean place(Blob blob, Place place, StreamStateHandle reported) {
    places.put(blob, place);
    return files.putIfAbsent(
            place.handle().getStreamStateHandleID(),
            new Named(blob.name.toString(), place.handle(), reported))
        == null;
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
    List<HandleAndLocalPath> readable = new ArrayList<>(files.size());
    for (Named file : files.values()) {
      all.add(HandleAndLocalPath.of(file.reported, file.name));
      readable.add(HandleAndLocalPath.of(file.handle, file.name));
    }
    List<MetaFormat.SharedBlob> shared = new ArrayList<>();
    places.forEach(
        (blob, place) -> {
          StreamStateHandle handle = place.handle();
          Named file = Objects.requireNonNull(files.get(handle.getStreamStateHandleID()));
          boolean alone =
              place.offset() == 0
                  && file.name.equals(blob.name.toString())
                  && handle.getStateSize() == blob.sizeBytes;
          if (!alone) {
            shared.add(
                new MetaFormat.SharedBlob(blob.name, file.name, place.offset(), blob.sizeBytes));
          }
        });
    return new Result(all, readable, shared, newBytes);
  }
}
