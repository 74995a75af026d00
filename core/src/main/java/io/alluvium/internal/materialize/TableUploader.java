package io.alluvium.internal.materialize;

import io.alluvium.StateBackendException;
import io.alluvium.internal.files.LocalFiles;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Pace;
import io.alluvium.spi.TableFile;
import io.alluvium.spi.TableSnapshot;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stores the files of one backend's snapshots, each only once (P3). Thread-safe; guarded by {@code
 * this}, not held across I/O.
 */
public final class TableUploader {

  /** What the uploader did for one snapshot. */
  public record Upload(List<TableFile> files, int newFiles, long newBytes) {}

  /**
   * Told of every immutable file that is durable, while its local copy is still there; for local
   * recovery.
   */
  public interface Keeper {
    void stored(Path local, TableFile file);

    /** Only these will be named from now on. */
    void retain(List<TableFile> files);

    Keeper NONE =
        new Keeper() {
          @Override
          public void stored(Path local, TableFile file) {}

          @Override
          public void retain(List<TableFile> files) {}
        };
  }

  private static final Logger LOG = LoggerFactory.getLogger(TableUploader.class);

  /** Of one snapshot. */
  private static final int FILES_AT_ONCE = 4;

  private record Content(long sizeBytes, int crc32c) {}

  /*
   * A table never uses the name of an immutable file twice while it is open, so that within one table the local name
   * identifies the content. A restored table is another one: RocksDB renumbers files that it imports. What was restored
   * is therefore recognised by its content, which costs one read of a local file, once.
   *
   * A file that was stored for a snapshot that failed later stays known, so that the next attempt does not store it again.
   */
  private final BlobStore store;
  private final BlobNames names;
  private final Keeper keeper;
  private final Map<String, TableFile> byName = new HashMap<>();
  private final Map<Content, TableFile> restored = new HashMap<>();
  private final Set<BlobName> inFlight = new HashSet<>();
  private final AtomicBoolean stopped;

  /**
   * @param restored immutable files that the table was restored from and that may be named again
   */
  public TableUploader(
      BlobStore store, BlobNames names, Keeper keeper, Collection<TableFile> restored) {
    this(store, names, keeper, restored, new AtomicBoolean());
  }

  private TableUploader(
      BlobStore store,
      BlobNames names,
      Keeper keeper,
      Collection<TableFile> restored,
      AtomicBoolean stopped) {
    this.store = store;
    this.names = names;
    this.keeper = keeper;
    this.stopped = stopped;
    for (TableFile file : restored) {
      this.restored.put(new Content(file.sizeBytes(), file.crc32c()), file);
    }
  }

  /** Told how much one snapshot has to store, before it is stored. */
  interface Pacing {
    Pace begin(long newBytes);
  }

  /**
   * Stores what is new and names all; blocks. A failure leaves what was stored known to the next
   * attempt.
   */
  Upload upload(TableSnapshot snapshot, Pacing pacing) {
    Map<TableSnapshot.File, TableFile> stored = new HashMap<>();
    int newFiles = 0;
    long newBytes = 0;
    for (TableSnapshot.File file : snapshot.files()) {
      checkNotStopped();
      TableFile known = file.immutable() ? known(file) : null;
      if (known == null) {
        newFiles++;
        newBytes += file.sizeBytes();
      } else {
        stored.put(file, known);
      }
    }
    return new Upload(
        storeAll(snapshot, stored, stoppable(pacing.begin(newBytes))), newFiles, newBytes);
  }

  /** All files of a snapshot, durable; several are stored at once where the store can do that. */
  private List<TableFile> storeAll(
      TableSnapshot snapshot, Map<TableSnapshot.File, TableFile> stored, Pace pace) {
    List<TableFile> files = new ArrayList<>(snapshot.files().size());
    Queue<Put> underWay = new ArrayDeque<>();
    boolean done = false;
    try {
      for (TableSnapshot.File file : snapshot.files()) {
        checkNotStopped();
        TableFile known = stored.get(file);
        if (known == null) {
          if (underWay.size() == FILES_AT_ONCE) {
            end(underWay.remove());
          }
          Put put = begin(file, pace);
          underWay.add(put);
          known = put.file;
        }
        files.add(known);
      }
      while (!underWay.isEmpty()) {
        end(underWay.remove());
      }
      done = true;
    } finally {
      if (!done) {
        // The local files go when this returns.
        underWay.forEach(this::settle);
        giveUp(files);
      }
    }
    return List.copyOf(files);
  }

  /** The store of another file has failed and is what is told. */
  private void settle(Put put) {
    try {
      end(put);
    } catch (RuntimeException e) {
      LOG.debug("blob '{}' was not stored either: {}", put.file.blob(), e.toString());
    }
  }

  /** A file that is being stored. */
  private record Put(TableSnapshot.File local, TableFile file, CompletableFuture<Void> answer) {}

  /** A file may be of gigabytes, and whoever closes waits for it. */
  private Pace stoppable(Pace pace) {
    return bytes -> {
      checkNotStopped();
      pace.await(bytes);
    };
  }

  private void checkNotStopped() {
    if (stopped.get()) {
      throw StateBackendException.closed("the backend was closed while its table was stored");
    }
  }

  private @Nullable TableFile known(TableSnapshot.File file) {
    boolean mayBeRestored;
    synchronized (this) {
      TableFile same = byName.get(file.name());
      if (same != null) {
        return same;
      }
      mayBeRestored =
          restored.keySet().stream().anyMatch(content -> content.sizeBytes() == file.sizeBytes());
    }
    if (!mayBeRestored) {
      return null;
    }
    int crc = crc32c(file.path());
    synchronized (this) {
      TableFile same = restored.get(new Content(file.sizeBytes(), crc));
      if (same == null) {
        return null;
      }
      TableFile renamed =
          new TableFile(file.name(), same.blob(), same.sizeBytes(), same.crc32c(), true);
      byName.put(file.name(), renamed);
      return renamed;
    }
  }

  private Put begin(TableSnapshot.File file, Pace pace) {
    int crc = crc32c(file.path());
    BlobName blob;
    synchronized (this) {
      // Live from the moment it has a name, or a collection could take it for garbage.
      blob = names.next(BlobName.Kind.TABLE);
      inFlight.add(blob);
    }
    TableFile stored = new TableFile(file.name(), blob, file.sizeBytes(), crc, file.immutable());
    boolean begun = false;
    try {
      CompletableFuture<Void> answer = store.beginPutFile(blob.toString(), file.path(), pace);
      begun = true;
      return new Put(file, stored, answer);
    } finally {
      if (!begun) {
        giveUp(List.of(stored));
      }
    }
  }

  private void end(Put put) {
    boolean done = false;
    try {
      Void unused = put.answer.join();
      done = true;
    } catch (CompletionException e) {
      throw e.getCause() instanceof StateBackendException known ? known : e;
    } finally {
      if (!done) {
        giveUp(List.of(put.file));
      }
    }
    TableFile file = put.file;
    if (file.immutable()) {
      synchronized (this) {
        byName.put(file.name(), file);
        inFlight.remove(file.blob());
      }
      keeper.stored(put.local.path(), file);
    }
  }

  /**
   * The materialization made of {@code files} is a base now, so that {@link Bases} vouches for its
   * blobs; forget the rest.
   */
  public void retain(List<TableFile> files) {
    synchronized (this) {
      Set<String> kept = new HashSet<>();
      for (TableFile file : files) {
        kept.add(file.name());
        inFlight.remove(file.blob());
      }
      byName.keySet().retainAll(kept);
      restored.clear();
    }
    keeper.retain(files);
  }

  /**
   * The attempt that stored them failed: files that change with each snapshot are of no use to the
   * next. Those of another attempt, which may be under way, are left alone.
   */
  public synchronized void giveUp(List<TableFile> files) {
    files.forEach(file -> inFlight.remove(file.blob()));
  }

  /** From now on every file is new. What an earlier base names is kept by that base. */
  public synchronized void forgetStored() {
    byName.clear();
    restored.clear();
  }

  /** One that stores everything in another place, knows nothing yet, and is stopped with this. */
  TableUploader elsewhere(BlobStore place) {
    return new TableUploader(place, names, Keeper.NONE, List.of(), stopped);
  }

  /** Nothing more is stored: no further file, and no further piece of the one under way. */
  void stop() {
    stopped.set(true);
  }

  /** Blobs that a later materialization may name, or that are being written. */
  public synchronized Set<BlobName> liveBlobs() {
    Set<BlobName> live = new HashSet<>(inFlight);
    byName.values().forEach(file -> live.add(file.blob()));
    restored.values().forEach(file -> live.add(file.blob()));
    return live;
  }

  private static int crc32c(Path file) {
    try {
      return LocalFiles.crc32c(file);
    } catch (IOException e) {
      throw StateBackendException.unavailable(
          "cannot read local table file '" + file + "': " + e.getMessage(), e);
    }
  }
}
