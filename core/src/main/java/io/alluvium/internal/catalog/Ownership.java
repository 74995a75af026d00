package io.alluvium.internal.catalog;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.Checkpoint;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Incarnation;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What this process knows about its ownership of the chain, and the only place where that changes.
 * Does no I/O. Thread-safe; guarded by {@code lock}.
 */
final class Ownership {

  /*
   *              takeOver succeeds              slot found taken by another
   *   NONE ---------------------------> OWNER ------------------------------> FENCED
   *    any ---close---> CLOSED          |  ^
   *                   commit begins     v  |  the answer is known: the slot is ours
   *                                    pending
   *
   * While a manifest is pending, its outcome may be unknown (C3a): the only commit that is accepted is the same one
   * again, which puts the same bytes into the same slot. `committing` says that somebody is waiting for the store now.
   */

  private enum Phase {
    NONE,
    OWNER,
    FENCED,
    CLOSED
  }

  /** What does not change while the job is owned. */
  record Owner(String job, Incarnation incarnation, long takeoverSlot) {}

  /** A manifest that may or may not be stored. */
  record Pending(SlotRecord.Manifest manifest, byte[] bytes, Set<BlobName> blobs) {}

  /** A manifest that is stored. */
  private record Stored(long checkpointId, Set<BlobName> blobs, boolean sound) {}

  private final CatalogSettings settings;
  private final Object lock = new Object();

  @GuardedBy("lock")
  private Phase phase = Phase.NONE;

  @GuardedBy("lock")
  private String fencedBy = "";

  @GuardedBy("lock")
  private @Nullable Owner owner;

  @GuardedBy("lock")
  private long nextSlot;

  @GuardedBy("lock")
  private long lastCheckpointId = Long.MIN_VALUE;

  @GuardedBy("lock")
  private @Nullable Checkpoint latest;

  @GuardedBy("lock")
  private RestoreMode restoreMode = RestoreMode.REUSE;

  @GuardedBy("lock")
  private boolean committedOwn;

  @GuardedBy("lock")
  private @Nullable Pending pending;

  @GuardedBy("lock")
  private boolean committing;

  /** Whether what is pending was sent to the store. */
  @GuardedBy("lock")
  private boolean sent;

  /** The first commit retires everything below the takeover. */
  @GuardedBy("lock")
  private boolean startsOver;

  /** Key groups of backends that were made without what the newest checkpoint holds for them. */
  @GuardedBy("lock")
  private final Set<KeyGroupRange> forgotten = new HashSet<>();

  /** By slot; this owner's own and those found below, without those that are subsumed. */
  @GuardedBy("lock")
  private final NavigableMap<Long, Stored> manifests = new TreeMap<>();

  /**
   * Slots of subsumed manifests that are not deleted yet. No more than their number is kept: a
   * store may refuse deletions for as long as the job runs.
   */
  @GuardedBy("lock")
  private final NavigableSet<Long> subsumed = new TreeSet<>();

  /** Slots that cannot be read and that the job goes on without. */
  @GuardedBy("lock")
  private final Set<Long> givenUp = new TreeSet<>();

  Ownership(CatalogSettings settings) {
    this.settings = settings;
  }

  /** Throws unless a takeover may begin. */
  void checkMayTakeOver() {
    synchronized (lock) {
      checkUsable();
      if (phase == Phase.OWNER) {
        throw StateBackendException.invalid(
            "this catalog owns a job already; it begins once, with either takeOver or startOver: to"
                + " take over again, or to start over after all, close this state backend and open"
                + " another");
      }
    }
  }

  /** The job is owned, and restored from {@code newest}. */
  void takenOver(Owner newOwner, Optional<SlotRecord.Manifest> newest, RestoreMode mode) {
    synchronized (lock) {
      checkMayTakeOver();
      owner = newOwner;
      nextSlot = newOwner.takeoverSlot() + 1;
      newest.ifPresent(manifest -> restoring(manifest, mode));
      phase = Phase.OWNER;
    }
  }

  /** The job is owned, and stands on nothing that came before. */
  void startedOver(Owner newOwner) {
    synchronized (lock) {
      takenOver(newOwner, Optional.empty(), RestoreMode.REUSE);
      startsOver = true;
    }
  }

  @GuardedBy("lock")
  private void restoring(SlotRecord.Manifest manifest, RestoreMode mode) {
    latest = manifest.checkpoint();
    restoreMode = mode;
    givenUp.addAll(manifest.givenUp());
    found(manifest);
  }

  /** The job is restored from an older checkpoint than the newest. */
  void fellBackTo(SlotRecord.Manifest manifest) {
    synchronized (lock) {
      checkNothingCommitted();
      restoring(manifest, RestoreMode.DETACHED);
    }
  }

  /** A slot below the takeover cannot be read, and it was decided to go on without it. */
  void gaveUp(Set<Long> slots) {
    synchronized (lock) {
      givenUp.addAll(slots);
    }
  }

  /** A manifest below the takeover was read. */
  void found(SlotRecord.Manifest manifest) {
    synchronized (lock) {
      lastCheckpointId = Math.max(lastCheckpointId, manifest.checkpointId());
      manifests.putIfAbsent(
          manifest.header().slot(), new Stored(manifest.checkpointId(), blobs(manifest), true));
      subsume();
    }
  }

  /** A manifest's blobs turned out to be damaged: it does not count as retained. */
  void damaged(Checkpoint checkpoint) {
    synchronized (lock) {
      lastCheckpointId = Math.max(lastCheckpointId, checkpoint.id());
      manifests.computeIfPresent(
          checkpoint.slot(),
          (slot, stored) -> new Stored(stored.checkpointId, stored.blobs, false));
    }
  }

  private static Set<BlobName> blobs(SlotRecord.Manifest manifest) {
    Set<BlobName> blobs = new HashSet<>();
    manifest.handles().forEach(handle -> handle.forEachBlob(blobs::add));
    return blobs;
  }

  /** The owner, or what there is instead, as an exception. */
  Owner owner() {
    synchronized (lock) {
      checkUsable();
      if (owner == null) {
        throw StateBackendException.invalid("no job is owned yet; call takeOver first");
      }
      return owner;
    }
  }

  @GuardedBy("lock")
  private void checkUsable() {
    if (phase == Phase.CLOSED) {
      throw StateBackendException.closed(
          "the state backend of this catalog is closed; open another one to go on with the job");
    }
    if (phase == Phase.FENCED) {
      throw StateBackendException.fenced(fencedBy);
    }
  }

  Optional<Checkpoint> latest() {
    synchronized (lock) {
      Owner unused = owner();
      return Optional.ofNullable(latest);
    }
  }

  OptionalLong greatestCheckpointId() {
    synchronized (lock) {
      Owner unused = owner();
      return lastCheckpointId == Long.MIN_VALUE
          ? OptionalLong.empty()
          : OptionalLong.of(lastCheckpointId);
    }
  }

  RestoreMode restoreMode() {
    synchronized (lock) {
      Owner unused = owner();
      return restoreMode;
    }
  }

  /** Throws unless this owner has stored nothing yet, so that another restore makes sense. */
  void checkNothingCommitted() {
    synchronized (lock) {
      Owner current = owner();
      if (committedOwn || pending != null) {
        throw StateBackendException.invalid(
            "job '"
                + current.job()
                + "' has committed a checkpoint since it was restored; start it again to fall back");
      }
    }
  }

  /** Throws unless this is the owner and the outcome of all that it put is known. */
  void checkNothingUnknown() {
    synchronized (lock) {
      Owner unused = owner();
      if (pending != null && !committing) {
        throw StateBackendException.of(
            StateBackendException.Kind.UNAVAILABLE,
            "nothing may be deleted while it is unknown whether checkpoint "
                + pending.manifest().checkpointId()
                + " was stored; commit it again first");
      }
    }
  }

  /**
   * A backend of this process was made. One that was made empty, although there is state for its
   * key groups, is no mistake yet: it may never be committed, or be made again.
   *
   * @param restoreFrom what it was restored from
   */
  void made(KeyGroupRange keyGroups, List<CheckpointHandle> restoreFrom) {
    synchronized (lock) {
      if (!restoreFrom.isEmpty()) {
        forgotten.remove(keyGroups);
      } else if (latest != null && latest.handles().stream().anyMatch(h -> holds(h, keyGroups))) {
        forgotten.add(keyGroups);
      }
    }
  }

  private static boolean holds(CheckpointHandle handle, KeyGroupRange keyGroups) {
    return !handle.keyGroups().intersect(keyGroups).isEmpty()
        && (handle.end() > 0 || !handle.parts().isEmpty());
  }

  /** A commit retires the checkpoint before it: what that holds must live on in this one. */
  @GuardedBy("lock")
  private void checkNothingForgotten(
      Owner current, long checkpointId, List<CheckpointHandle> handles) {
    for (CheckpointHandle handle : handles) {
      if (latest != null && forgotten.contains(handle.keyGroups())) {
        throw StateBackendException.invalid(
            "checkpoint "
                + latest.id()
                + " of job '"
                + current.job()
                + "' holds state, but the backend of key groups "
                + handle.keyGroups()
                + " was made without its handles, so that checkpoint "
                + checkpointId
                + " would lose that state; pass the handles of checkpoint "
                + latest.id()
                + " when the backend is made, or call startOver instead of takeOver to begin without"
                + " it");
      }
    }
  }

  /**
   * Begins to commit a checkpoint, or goes on with one whose outcome is unknown. {@link #stored},
   * {@link #unknown}, {@link #withdrawn} or {@link #fenced} ends it.
   *
   * @return empty when nothing changed since the last checkpoint, which stands for this one too
   */
  Optional<Pending> beginCommit(
      long checkpointId, List<CheckpointHandle> handles, byte[] metadata, Instant now) {
    synchronized (lock) {
      Owner current = owner();
      if (committing) {
        throw StateBackendException.invalid(
            "checkpoint " + checkpointId + " cannot be committed while another one is");
      }
      if (pending != null) {
        checkSameAgain(pending.manifest(), checkpointId, handles, metadata);
      } else {
        if (checkpointId <= lastCheckpointId) {
          throw StateBackendException.invalid(
              "checkpoint "
                  + checkpointId
                  + " of job '"
                  + current.job()
                  + "' must be greater than "
                  + lastCheckpointId
                  + ", the greatest in its chain");
        }
        checkNothingForgotten(current, checkpointId, handles);
        if (isUnchanged(handles, metadata)) {
          lastCheckpointId = checkpointId;
          return Optional.empty();
        }
        pending = prepare(current, checkpointId, handles, metadata, now);
        sent = false;
      }
      committing = true;
      return Optional.of(pending);
    }
  }

  @GuardedBy("lock")
  private void checkSameAgain(
      SlotRecord.Manifest manifest,
      long checkpointId,
      List<CheckpointHandle> handles,
      byte[] metadata) {
    if (checkpointId != manifest.checkpointId()
        || !handles.equals(manifest.handles())
        || !Arrays.equals(metadata, manifest.metadata())) {
      throw StateBackendException.invalid(
          "it is unknown whether checkpoint "
              + manifest.checkpointId()
              + " was stored in slot "
              + manifest.header().slot()
              + "; commit the same checkpoint again with the same content, or stop and start again");
    }
  }

  /** Only the newest manifest of the chain may stand for a checkpoint without changes. */
  @GuardedBy("lock")
  private boolean isUnchanged(List<CheckpointHandle> handles, byte[] metadata) {
    if (latest == null
        || (restoreMode == RestoreMode.DETACHED && !committedOwn)
        || latest.handles().size() != handles.size()
        || !Arrays.equals(latest.metadata(), metadata)) {
      return false;
    }
    for (int i = 0; i < handles.size(); i++) {
      if (!withId(handles.get(i), 0).equals(withId(latest.handles().get(i), 0))) {
        return false;
      }
    }
    return true;
  }

  private static CheckpointHandle withId(CheckpointHandle handle, long checkpointId) {
    return new CheckpointHandle(
        checkpointId,
        handle.keyGroups(),
        handle.maxParallelism(),
        handle.end(),
        handle.parts(),
        handle.tail(),
        handle.key(),
        handle.states());
  }

  @GuardedBy("lock")
  private Pending prepare(
      Owner current,
      long checkpointId,
      List<CheckpointHandle> handles,
      byte[] metadata,
      Instant now) {
    SlotRecord.Manifest manifest =
        new SlotRecord.Manifest(
            new SlotRecord.Header(
                current.job(),
                nextSlot,
                nextSlot - 1,
                current.incarnation(),
                settings.libraryVersion(),
                now),
            checkpointId,
            List.copyOf(handles),
            metadata.clone(),
            List.copyOf(givenUp));
    return new Pending(manifest, ManifestFormat.encode(manifest), blobs(manifest));
  }

  /** The manifest is in its slot: the checkpoint is confirmed. */
  Checkpoint stored(Pending confirmed) {
    synchronized (lock) {
      SlotRecord.Manifest manifest = confirmed.manifest();
      committing = false;
      pending = null;
      committedOwn = true;
      nextSlot = manifest.header().slot() + 1;
      lastCheckpointId = manifest.checkpointId();
      latest = manifest.checkpoint();
      manifests.put(
          manifest.header().slot(), new Stored(manifest.checkpointId(), confirmed.blobs(), true));
      subsume();
      return latest;
    }
  }

  /** The store did not say whether the manifest is in its slot. */
  void unknown() {
    synchronized (lock) {
      committing = false;
      sent = true;
    }
  }

  /** Nothing was sent to the store this time. */
  void withdrawn() {
    synchronized (lock) {
      committing = false;
      if (!sent) {
        pending = null;
      }
    }
  }

  /** Another owner has taken over; from here on every call says so. */
  StateBackendException fenced(String message) {
    synchronized (lock) {
      committing = false;
      if (phase == Phase.OWNER) {
        phase = Phase.FENCED;
        fencedBy = message;
      }
      return StateBackendException.fenced(message);
    }
  }

  void close() {
    synchronized (lock) {
      phase = Phase.CLOSED;
    }
  }

  /**
   * Whether blobs and slots may be deleted: by an owner that knows the outcome of everything it put
   * (C3a), and that does not stand on a checkpoint below damaged ones only.
   */
  boolean mayCollect() {
    synchronized (lock) {
      return phase == Phase.OWNER
          && (pending == null || committing)
          && ((restoreMode == RestoreMode.REUSE && !startsOver) || committedOwn);
    }
  }

  /** Blobs of each manifest from the oldest retained one on. */
  List<Set<BlobName>> reachable() {
    synchronized (lock) {
      return manifests.tailMap(oldestRetained(), true).values().stream()
          .map(Stored::blobs)
          .toList();
    }
  }

  /** Slots of the known manifests below the oldest retained one. */
  Set<Long> subsumed() {
    synchronized (lock) {
      subsume();
      Set<Long> slots = new TreeSet<>(subsumed);
      slots.addAll(manifests.headMap(oldestRetained(), false).keySet());
      return slots;
    }
  }

  /** What is subsumed stays so once this owner has stored a manifest: a fallback is over then. */
  @GuardedBy("lock")
  private void subsume() {
    if (committedOwn) {
      NavigableMap<Long, Stored> below = manifests.headMap(oldestRetained(), false);
      subsumed.addAll(below.keySet());
      below.clear();
    }
  }

  /** These slots below the greatest are void, or were subsumed and forgotten. */
  void subsumed(Set<Long> slots) {
    synchronized (lock) {
      subsumed.addAll(slots);
    }
  }

  /** Forgets subsumed slots beyond so many; returns whether there were any. */
  boolean forgetBeyond(int most) {
    synchronized (lock) {
      boolean any = false;
      while (subsumed.size() > most) {
        Object unused = subsumed.pollFirst();
        any = true;
      }
      return any;
    }
  }

  /** Where the last of the newest sound manifests stands, as many as are retained; 0 if fewer. */
  @GuardedBy("lock")
  private long oldestRetained() {
    int left = settings.retained();
    long least = startsOver && committedOwn && owner != null ? owner.takeoverSlot() : 0;
    for (Map.Entry<Long, Stored> entry : manifests.descendingMap().entrySet()) {
      if (entry.getValue().sound && --left == 0) {
        return Math.max(least, entry.getKey());
      }
    }
    return least;
  }

  /** These slots are deleted, by this owner or by one before it. */
  void forget(Set<Long> slots) {
    synchronized (lock) {
      manifests.keySet().removeAll(slots);
      subsumed.removeAll(slots);
    }
  }

  /** Whether a slot lies above the takeover and was filled by this owner. */
  boolean isOwnSlot(long slot) {
    synchronized (lock) {
      return owner != null && slot > owner.takeoverSlot() && slot < nextSlot;
    }
  }

  /** How many names and slots it holds. */
  int size() {
    synchronized (lock) {
      return subsumed.size()
          + manifests.values().stream().mapToInt(stored -> 1 + stored.blobs.size()).sum();
    }
  }

  Set<Long> knownSlots() {
    synchronized (lock) {
      Set<Long> known = new TreeSet<>(manifests.keySet());
      known.addAll(subsumed);
      return known;
    }
  }
}
