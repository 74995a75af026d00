package io.alluvium.flink;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Pace;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.jspecify.annotations.Nullable;

/**
 * The blobs of one keyed backend, between core, which names them, and Flink's checkpoints, which
 * hold them. Thread-safe; guarded by {@code this}, not held across I/O of Flink's streams.
 */
final class FlinkBlobStore implements BlobStore {

  /** Larger blobs are kept in files. */
  private static final int MEMORY_BYTES = 64 << 10;

  /*
   * Flink owns what a checkpoint is given: when the checkpoint is declined, the JobManager deletes its new files, whoever
   * else would need them. So a blob is ours until a checkpoint that names it has completed:
   *
   *   put            keeps a copy of our own: small ones in memory, others in a local file (a hard link for a table file)
   *   early          may be stored ahead of any checkpoint (a long changelog, a materialization); still ours to discard
   *   give(n)        checkpoint n is about to name it: n gets the early file, or a new one made of our copy
   *   confirm(n)     n has completed: its files stand in Flink's registry, later checkpoints refer to them by a
   *                  placeholder, our copy goes
   *   abort(n)       what n was given is gone; the next checkpoint gets new files
   *
   * Each of several checkpoints that are under way at once gets files of its own, because any of them may be declined.
   * What core asks for first (durable = put has returned) is therefore weaker than elsewhere; the checkpoint is not
   * reported to Flink before its files are stored.
   */
  private final LocalCopies copies;
  private final boolean keepsCopies;
  private final Deletions deletions;

  @GuardedBy("this")
  private final Map<BlobName, Blob> blobs = new LinkedHashMap<>();

  @GuardedBy("this")
  private final Map<Long, Set<BlobName>> pending = new HashMap<>();

  /** Checkpoints under way that have not said yet what they name. */
  @GuardedBy("this")
  private final Set<Long> announced = new HashSet<>();

  private volatile @Nullable EarlyUploads early;
  private volatile @Nullable Supplier<Set<BlobName>> live;

  @GuardedBy("this")
  private boolean closed;

  /** What becomes of own copies when a completed checkpoint has one. */
  enum Copies {
    DROPPED,
    /** For Flink's local recovery. */
    KEPT
  }

  /**
   * @param directory for own copies; on the file system of the tables; made when it is needed
   * @param background deletes what is not needed any more
   */
  FlinkBlobStore(Path directory, Copies whenCompleted, Executor background) {
    this.copies = new LocalCopies(directory);
    this.deletions = new Deletions(background);
    this.keepsCopies = whenCompleted == Copies.KEPT;
  }

  /** From now on blobs may be stored ahead of their checkpoint. */
  void setEarlyUploads(EarlyUploads uploads) {
    early = uploads;
  }

  /** A blob of what is restored. */
  synchronized void adopt(BlobName name, long sizeBytes, Place place) {
    blobs.computeIfAbsent(name, unused -> new Blob(name, sizeBytes)).kept = place;
  }

  /** A local copy of a blob of what is restored; a copy of the wrong size is left alone. */
  void adoptCopy(BlobName name, Path copy) throws IOException {
    Blob blob = blob(name);
    if (Files.exists(copy) && Files.size(copy) == blob.sizeBytes) {
      Path own = copies.keep(name, copy);
      synchronized (this) {
        blob.file = own;
      }
    }
  }

  /** The copy of a blob in a local file; null when there is none. */
  synchronized @Nullable Path copyOf(BlobName name) {
    Blob blob = blobs.get(name);
    return blob == null ? null : blob.file;
  }

  /** The copy is of no use; the blob is in Flink's files as well. */
  void dropCopy(BlobName name) {
    List<Path> dropped = new ArrayList<>();
    synchronized (this) {
      Blob blob = blobs.get(name);
      if (blob != null && !blob.places().isEmpty()) {
        dropCopy(blob, dropped);
      }
    }
    deletions.later(dropped, List.of());
  }

  /**
   * A file that was fetched for a restore, before a table changes it; kept where local recovery
   * needs copies.
   */
  void keepCopy(BlobName name, Path fetched, boolean immutable) throws IOException {
    if (keepsCopies && copyOf(name) == null) {
      Path own =
          immutable ? copies.keep(name, fetched) : copies.write(name, Files.readAllBytes(fetched));
      synchronized (this) {
        blob(name).file = own;
      }
    }
  }

  /*
   * A put that fails or is slow is made again, beside the first. The copy is then kept already: the second one leaves it,
   * which an early upload may be reading, as it is.
   */
  @Override
  public void put(String name, List<ByteBuffer> content) {
    BlobName parsed = parse(name);
    Blob blob = known(parsed);
    if (blob == null) {
      blob = copied(parsed, content);
      add(blob);
    }
    CompletableFuture<Void> stored = storeEarly(blob, Pace.NONE);
    // The log goes on with our own copy. A materialization is nothing before it is stored.
    if (parsed.kind() == BlobName.Kind.TABLE) {
      await(stored);
    }
  }

  private Blob copied(BlobName name, List<ByteBuffer> content) {
    ByteBuffer all = ByteBuffer.allocate((int) content.stream().mapToLong(Buffer::remaining).sum());
    content.forEach(part -> all.put(part.duplicate()));
    Blob blob = new Blob(name, all.capacity());
    if (all.capacity() <= MEMORY_BYTES) {
      blob.bytes = all.array();
    } else {
      blob.file = copies.write(name, all.array());
    }
    return blob;
  }

  private synchronized @Nullable Blob known(BlobName name) {
    Blob blob = blobs.get(name);
    return blob != null && blob.hasOwnCopy() ? blob : null;
  }

  @Override
  public void putFile(String name, Path source) {
    putFile(name, source, Pace.NONE);
  }

  @Override
  public void putFile(String name, Path source, Pace pace) {
    await(beginPutFile(name, source, pace));
  }

  /** The file itself is needed no more when this returns. */
  @Override
  public CompletableFuture<Void> beginPutFile(String name, Path source, Pace pace) {
    BlobName parsed = parse(name);
    Blob known = known(parsed);
    if (known != null) {
      return storeEarly(known, pace);
    }
    Blob blob;
    try {
      Path file = copies.keep(parsed, source);
      blob = new Blob(parsed, Files.size(file));
      blob.file = file;
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot keep table file '" + source + "' as blob '" + name + "': " + e, e);
    }
    add(blob);
    return storeEarly(blob, pace);
  }

  private synchronized void add(Blob blob) {
    if (closed) {
      throw StateBackendException.closed("this keyed backend is closed");
    }
    blobs.put(blob.name, blob);
  }

  private CompletableFuture<Void> storeEarly(Blob blob, Pace pace) {
    EarlyUploads uploads = early;
    if (uploads == null || !uploads.wants(blob)) {
      return CompletableFuture.completedFuture(null);
    }
    synchronized (this) {
      if (blob.storing || blob.early != null) {
        return CompletableFuture.completedFuture(null);
      }
      blob.storing = true;
    }
    return begun(uploads, blob, pace)
        .whenComplete((handle, failure) -> storedEarly(blob, handle))
        .thenAccept(handle -> {});
  }

  private CompletableFuture<@Nullable StreamStateHandle> begun(
      EarlyUploads uploads, Blob blob, Pace pace) {
    try {
      return uploads.store(this, blob, pace);
    } catch (RuntimeException | Error e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private void storedEarly(Blob blob, @Nullable StreamStateHandle handle) {
    synchronized (this) {
      blob.storing = false;
      if (handle != null && blob.early == null && !closed && blobs.get(blob.name) == blob) {
        blob.early = handle;
        return;
      }
    }
    if (handle != null) {
      discard(handle);
    }
  }

  private static void await(CompletableFuture<Void> stored) {
    try {
      Void unused = stored.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof StateBackendException known ? known : e;
    }
  }

  /** A blob by its name; it must be there. */
  synchronized Blob blob(BlobName name) {
    Blob blob = blobs.get(name);
    if (blob == null) {
      throw StateBackendException.corrupt("blob '" + name + "' is missing");
    }
    return blob;
  }

  /** Opens a blob wherever it can be read. */
  InputStream open(Blob blob) throws IOException {
    byte[] bytes;
    Path file;
    List<Place> places;
    synchronized (this) {
      bytes = blob.bytes;
      file = blob.file;
      places = blob.places();
    }
    if (bytes != null) {
      return new ByteArrayInputStream(bytes);
    }
    if (file != null && Files.exists(file)) {
      return Files.newInputStream(file);
    }
    if (places.isEmpty()) {
      throw StateBackendException.corrupt("blob '" + blob.name + "' is nowhere to be read");
    }
    return HandleInputStream.openAny(places, 0, blob.sizeBytes);
  }

  /** Writes all of a blob; a copy that is shorter or longer than the blob fails. */
  void writeTo(Blob blob, OutputStream out) throws IOException {
    try (InputStream in = open(blob)) {
      long count = in.transferTo(out);
      if (count != blob.sizeBytes) {
        throw new IOException(
            "blob '" + blob.name + "' has " + count + " bytes, expected " + blob.sizeBytes);
      }
    }
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    Blob blob = blob(parse(name));
    try {
      List<Place> places = placesIfNoCopy(blob);
      if (!places.isEmpty()) {
        return HandleInputStream.openAny(places, offset, length);
      }
      InputStream in = open(blob);
      try {
        in.skipNBytes(offset);
      } catch (IOException e) {
        in.close();
        throw e;
      }
      return new LimitedInputStream(in, length);
    } catch (IOException e) {
      throw StateBackendException.unavailable("cannot read blob '" + name + "': " + e, e);
    }
  }

  private synchronized List<Place> placesIfNoCopy(Blob blob) {
    return blob.hasOwnCopy() ? List.of() : blob.places();
  }

  @Override
  public synchronized OptionalLong size(String name) {
    Blob blob = blobs.get(parse(name));
    return blob == null ? OptionalLong.empty() : OptionalLong.of(blob.sizeBytes);
  }

  /** Puts a copy of a blob into a directory if there is one here. */
  void copyTo(BlobName name, Path target) throws IOException {
    Blob blob = blob(name);
    byte[] bytes;
    Path file;
    synchronized (this) {
      bytes = blob.bytes;
      file = blob.file;
    }
    Path copy = target.resolve(LocalCopies.nameOf(name));
    if (bytes != null) {
      Path unused = Files.write(copy, bytes);
    } else if (file != null) {
      LocalCopies.linkOrCopy(file, copy);
    }
  }

  /** Checkpoint {@code id} is under way and will say by {@link #begin} what it names. */
  synchronized void announce(long id) {
    announced.add(id);
  }

  /**
   * Checkpoint {@code id} names these blobs: they stay until its verdict.
   *
   * @return the blobs, in the same order
   */
  synchronized List<Blob> begin(long id, Collection<BlobName> names) {
    List<Blob> named = new ArrayList<>(names.size());
    for (BlobName name : names) {
      named.add(blob(name));
    }
    announced.remove(id);
    pending.put(id, Set.copyOf(names));
    return named;
  }

  /**
   * The place that a later checkpoint may refer to; null when it needs a file of its own.
   *
   * @param id of that checkpoint
   */
  synchronized @Nullable Place keptFor(long id, Blob blob) {
    return stays(blob, id) ? blob.kept : null;
  }

  /**
   * Whether the kept file outlives the checkpoints that are under way: each that names the blob
   * refers to that very file. One with a file of its own may have completed already, and then Flink
   * has deleted the kept one. Of one that is only announced it is not known.
   *
   * @param asking a checkpoint that does not count
   */
  @GuardedBy("this")
  private boolean stays(Blob blob, long asking) {
    Place kept = blob.kept;
    if (kept == null || announced.stream().anyMatch(other -> other != asking)) {
      return false;
    }
    for (Map.Entry<Long, Set<BlobName>> other : pending.entrySet()) {
      if (other.getKey() != asking
          && other.getValue().contains(blob.name)
          && !kept.equals(blob.given.get(other.getKey()))) {
        return false;
      }
    }
    return true;
  }

  /** Takes the early file of a blob for one checkpoint; null when there is none. */
  synchronized @Nullable StreamStateHandle takeEarly(Blob blob) {
    StreamStateHandle taken = blob.early;
    blob.early = null;
    return taken;
  }

  /** The checkpoint came to nothing before it had the early file. */
  void giveBackEarly(Blob blob, StreamStateHandle taken) {
    synchronized (this) {
      if (!closed && blob.early == null && blobs.get(blob.name) == blob) {
        blob.early = taken;
        return;
      }
    }
    discard(taken);
  }

  /** Deletes a file that no checkpoint has; does not wait. */
  void discard(StreamStateHandle file) {
    deletions.later(List.of(), List.of(file));
  }

  /** Checkpoint {@code id} has the blob in this place. */
  synchronized void give(long id, Blob blob, Place place) {
    blob.given.put(id, place);
  }

  /** The checkpoint has completed; what it was given is Flink's. */
  void confirm(long id) {
    List<Path> dropped = new ArrayList<>();
    synchronized (this) {
      for (BlobName name : pending.getOrDefault(id, Set.of())) {
        Blob blob = blobs.get(name);
        Place place = blob == null ? null : blob.given.get(id);
        if (blob != null && place != null) {
          blob.kept = place;
        }
      }
      pending.keySet().removeIf(other -> other <= id);
      announced.removeIf(other -> other <= id);
      for (Blob blob : blobs.values()) {
        blob.given.keySet().removeIf(other -> other <= id);
        if (!keepsCopies && blob.hasOwnCopy() && stays(blob, id)) {
          dropCopy(blob, dropped);
        }
      }
    }
    deletions.later(dropped, List.of());
  }

  /** The checkpoint came to nothing; what it was given is gone. */
  synchronized void abort(long id) {
    announced.remove(id);
    pending.remove(id);
    blobs.values().forEach(blob -> blob.given.remove(id));
  }

  /** From now on garbage is collected: all but what a later checkpoint may name. */
  void setLive(Supplier<Set<BlobName>> names) {
    live = names;
  }

  /** Forgets what no checkpoint can name any more. */
  void collect() {
    Supplier<Set<BlobName>> names = live;
    if (names == null) {
      return;
    }
    List<BlobName> before;
    synchronized (this) {
      before = List.copyOf(blobs.keySet());
    }
    // After looking at what there is, so that a blob that comes meanwhile is spared.
    Set<BlobName> needed = names.get();
    List<StreamStateHandle> discarded = new ArrayList<>();
    List<Path> dropped = new ArrayList<>();
    synchronized (this) {
      for (BlobName name : before) {
        boolean awaited = pending.values().stream().anyMatch(named -> named.contains(name));
        if (!needed.contains(name) && !awaited) {
          Blob gone = blobs.remove(name);
          if (gone != null) {
            dropCopy(gone, dropped);
            if (gone.early != null) {
              discarded.add(gone.early);
            }
          }
        }
      }
    }
    deletions.later(dropped, discarded);
  }

  @GuardedBy("this")
  private void dropCopy(Blob blob, List<Path> dropped) {
    blob.bytes = null;
    if (blob.file != null) {
      dropped.add(blob.file);
      blob.file = null;
    }
  }

  private static BlobName parse(String name) {
    return BlobName.tryParse(name)
        .orElseThrow(() -> StateBackendException.invalid("'" + name + "' is not a data blob"));
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    throw StateBackendException.internal("Flink keeps the checkpoints; there are no slots");
  }

  @Override
  public synchronized List<BlobInfo> list(String prefix) {
    throw StateBackendException.internal("Flink keeps the checkpoints; there is nothing to list");
  }

  /** Nothing: what is not needed goes by {@link #collect}. */
  @Override
  public void delete(Collection<String> names) {}

  @Override
  public String uri() {
    return "Flink's checkpoint storage";
  }

  /** Discards what no checkpoint was given. The directory is its maker's to delete. */
  @Override
  public void close() {
    List<StreamStateHandle> discarded = new ArrayList<>();
    synchronized (this) {
      closed = true;
      for (Blob blob : blobs.values()) {
        if (blob.early != null) {
          discarded.add(blob.early);
        }
      }
      blobs.clear();
      pending.clear();
    }
    deletions.later(List.of(), discarded);
  }
}
