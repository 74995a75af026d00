package io.alluvium.internal.catalog;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Metrics;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes what no retained checkpoint and nobody living needs (C4). Thread-safe; one collection
 * runs at a time.
 */
final class GarbageCollector {

  /*
   * The first collection of an owner, and one that is asked for, list everything: that finds what earlier incarnations
   * left behind, and manifests that they did not get round to deleting. Every other one knows from the ledger what there
   * is and makes no request unless something is to be deleted; so an idle owner makes none at all.
   *
   * 1. An owner deletes only blobs of its own incarnation or of one whose takeover lies below its own. Whatever a later
   *    owner needs was reachable from the newest manifest below its takeover, which is this owner's newest or its
   *    pending one: both are spared. So an owner that does not know yet that it was replaced deletes nothing of use.
   * 2. Blobs are listed first, then live sets are copied, then manifests are looked at; slots are deleted before blobs.
   * 3. Takeover records are never deleted, nor is a slot that cannot be read, which may be one.
   * 4. A store may refuse some requests for good. What no manifest ever named is deleted although slots are not; the rest
   *    waits for them (2.). Of what is not deleted a bounded part is remembered; a listing finds what was forgotten, once
   *    the store deletes again.
   */

  private static final Logger LOG = LoggerFactory.getLogger(GarbageCollector.class);

  /** Temporary files of others are left alone in the background for that long. */
  private static final Duration LEFTOVERS_AGE = Duration.ofHours(1);

  /** Names, and slots, that are to be deleted and are remembered while the store refuses. */
  static final int MAX_REMEMBERED = 10_000;

  /** How many are deleted at once. */
  static final int BATCH = 1_000;

  private final BlobStore store;
  private final SlotStore slots;
  private final Ownership ownership;
  private final BlobLedger ledger;
  private final Execution execution;
  private final Metrics.Counter deleted;
  private final Metrics.Counter failures;
  private final Chore listing;
  private final Chore slotDeletion;
  private final Chore blobDeletion;
  private final Chore leftovers;
  private final Object lock = new Object();

  /** Of the owner; absent before the takeover. */
  @GuardedBy("lock")
  private @Nullable SlotIndex index;

  /** Of the collection that runs now. */
  @GuardedBy("lock")
  private @Nullable CompletableFuture<Boolean> running;

  @GuardedBy("lock")
  private boolean askedAgain;

  @GuardedBy("lock")
  private boolean everythingListed;

  /** Confined to the collection that runs, as the chores are. */
  private boolean leftoversDeleted;

  /** Whether more was to be deleted than is remembered. Confined to the collection that runs. */
  private boolean forgotten;

  GarbageCollector(
      BlobStore store,
      SlotStore slots,
      Ownership ownership,
      BlobLedger ledger,
      Execution execution,
      Metrics metrics) {
    this.store = store;
    this.slots = slots;
    this.ownership = ownership;
    this.ledger = ledger;
    this.execution = execution;
    this.deleted = metrics.counter("catalog.gc.deleted.blobs");
    this.failures = metrics.counter("catalog.gc.failures.count");
    this.listing = new Chore("listing what earlier owners left", execution, failures);
    this.slotDeletion = new Chore("deleting subsumed checkpoints", execution, failures);
    this.blobDeletion = new Chore("deleting garbage", execution, failures);
    this.leftovers = new Chore("deleting unfinished uploads", execution, failures);
  }

  /** The job is owned: collections make sense from here on. */
  void start(SlotIndex ofOwner) {
    synchronized (lock) {
      index = ofOwner;
    }
  }

  /** Collects soon, in the background. What fails is tried again after a later commit. */
  void afterCommit() {
    synchronized (lock) {
      if (running != null) {
        askedAgain = true;
        return;
      }
      running = new CompletableFuture<>();
    }
    // Refused: the next commit, or the next owner, collects what is left.
    Execution.handOff(execution.downloads(), this::runInBackground, refusal -> giveUp());
  }

  private void giveUp() {
    CompletableFuture<Boolean> ended;
    synchronized (lock) {
      askedAgain = false;
      ended = running;
      running = null;
    }
    if (ended != null) {
      ended.complete(true);
    }
  }

  private void runInBackground() {
    do {
      try {
        execution.giveWay();
        Throwable unused = collect(isEverythingListed() ? Scope.KNOWN : Scope.LISTED);
      } catch (RuntimeException | Error e) {
        // Whatever it is, it must not leave a collection behind that never ends.
        if (Chore.endsWithProcess(e)) {
          LOG.debug("a collection of garbage ended with the process: {}", e.toString());
          giveUp();
          return;
        }
        failures.add(1);
        LOG.warn(
            "Garbage was not collected, the next checkpoint tries again: {}",
            e instanceof StateBackendException ? e.getMessage() : e.toString());
      }
    } while (!finish());
  }

  private boolean isEverythingListed() {
    synchronized (lock) {
      return everythingListed;
    }
  }

  /** Ends a collection unless another one was asked for meanwhile. */
  private boolean finish() {
    CompletableFuture<Boolean> ended;
    synchronized (lock) {
      if (askedAgain) {
        askedAgain = false;
        return false;
      }
      ended = running;
      running = null;
    }
    if (ended != null) {
      ended.complete(true);
    }
    return true;
  }

  /** Collects everything now; waits for a collection in the background first. */
  void collectNow() {
    while (true) {
      CompletableFuture<Boolean> other;
      synchronized (lock) {
        if (running == null) {
          running = new CompletableFuture<>();
          break;
        }
        other = running;
      }
      Boolean unused = execution.await(other);
    }
    boolean done = false;
    Throwable failure;
    try {
      do {
        failure = collect(Scope.LISTED_AT_END);
      } while (!finish());
      done = true;
    } finally {
      if (!done) {
        giveUp();
      }
    }
    if (failure instanceof Error error) {
      throw error;
    } else if (failure instanceof RuntimeException exception) {
      throw exception;
    }
  }

  private enum Scope {
    /** What the ledger knows; no listing. */
    KNOWN,
    /** Everything there is. */
    LISTED,
    /** Everything there is, and what nobody can name any more when no live set is left. */
    LISTED_AT_END
  }

  /** Returns the first failure of a request; the others were made all the same. */
  private @Nullable Throwable collect(Scope scope) {
    if (!ownership.mayCollect()) {
      return null;
    }
    boolean atEnd = scope == Scope.LISTED_AT_END;
    Throwable failure = null;
    if (scope != Scope.KNOWN && (atEnd || listing.isDue())) {
      failure = listing.attempt(this::listEverything).failure();
    }
    Set<BlobName> garbage =
        new HashSet<>(
            ledger.plan(
                atEnd ? BlobLedger.Fresh.COLLECTED : BlobLedger.Fresh.SPARED,
                ownership::reachable));
    // After the plan: a manifest that is subsumed only now keeps its blobs until the next time.
    Set<Long> subsumed = ownership.subsumed();
    boolean slotsGone = subsumed.isEmpty();
    if (!slotsGone && (atEnd || slotDeletion.isDue())) {
      Chore.Outcome deletion = slotDeletion.attempt(() -> deleteSlots(subsumed));
      slotsGone = deletion.finished();
      failure = failure == null ? deletion.failure() : failure;
    }
    if (!slotsGone) {
      garbage.removeIf(ledger::mayBeNamed);
    }
    boolean blobsGone = garbage.isEmpty();
    if (!blobsGone && (atEnd || blobDeletion.isDue())) {
      Chore.Outcome deletion = blobDeletion.attempt(() -> deleteBlobs(garbage));
      blobsGone = deletion.finished();
      failure = failure == null ? deletion.failure() : failure;
    }
    if (atEnd || (!leftoversDeleted && isEverythingListed() && leftovers.isDue())) {
      Chore.Outcome deletion = leftovers.attempt(() -> deleteLeftovers(atEnd));
      leftoversDeleted |= deletion.finished();
      failure = failure == null ? deletion.failure() : failure;
    }
    forget(slotsGone && blobsGone);
    return failure;
  }

  private void forget(boolean allGone) {
    if (allGone && forgotten) {
      forgotten = false;
      synchronized (lock) {
        everythingListed = false;
      }
    }
    forgotten |= ledger.forgetBeyond(MAX_REMEMBERED);
    forgotten |= ownership.forgetBeyond(MAX_REMEMBERED);
  }

  /** Returns false when it stopped half-way: what is left may still be named by manifests. */
  private boolean deleteSlots(Set<Long> subsumed) {
    List<Long> all = List.copyOf(subsumed);
    for (int from = 0; from < all.size(); from += BATCH) {
      if (!ownership.mayCollect()) {
        return false;
      }
      List<Long> batch = all.subList(from, Math.min(all.size(), from + BATCH));
      slots.delete(batch);
      ownership.forget(Set.copyOf(batch));
    }
    return true;
  }

  /** Returns false when it stopped half-way. */
  private boolean deleteBlobs(Set<BlobName> garbage) {
    List<BlobName> all = garbage.stream().sorted(Comparator.comparing(BlobName::toString)).toList();
    for (int from = 0; from < all.size(); from += BATCH) {
      if (!ownership.mayCollect()) {
        return false;
      }
      List<BlobName> batch = all.subList(from, Math.min(all.size(), from + BATCH));
      store.delete(batch.stream().map(BlobName::toString).toList());
      ledger.forget(batch);
      deleted.add(batch.size());
    }
    return true;
  }

  private boolean deleteLeftovers(boolean atEnd) {
    store.deleteLeftovers(atEnd ? Duration.ZERO : LEFTOVERS_AGE);
    return true;
  }

  /**
   * Tells ledger and ownership about every blob and manifest that this owner may delete one day,
   * own slots included that were deleted and came back, by a put that was under way for long.
   */
  private boolean listEverything() {
    List<BlobInfo> blobs = store.list(BlobName.PREFIX);
    NavigableMap<Long, BlobInfo> listed = slots.list();
    Ownership.Owner owner = ownership.owner();
    SlotIndex slotIndex;
    synchronized (lock) {
      slotIndex = Objects.requireNonNull(index, "started with the takeover");
    }
    slotIndex.listed(listed);
    readSlotsBelow(owner.takeoverSlot(), slotIndex);
    Set<BlobName> deletable = new HashSet<>();
    for (BlobInfo blob : blobs) {
      BlobName.tryParse(blob.name())
          .filter(name -> mayDelete(name.incarnation(), owner, slotIndex))
          .ifPresent(deletable::add);
    }
    ledger.inherit(deletable);
    Set<Long> voidSlots = new TreeSet<>();
    for (long slot : listed.keySet()) {
      if (ownership.isOwnSlot(slot)) {
        voidSlots.add(slot);
      }
    }
    voidSlots.removeAll(ownership.knownSlots());
    ownership.subsumed(voidSlots);
    synchronized (lock) {
      everythingListed = true;
    }
    return true;
  }

  private void readSlotsBelow(long takeoverSlot, SlotIndex slotIndex) {
    NavigableSet<Long> below = slotIndex.below(takeoverSlot);
    Set<Long> gone = new TreeSet<>(ownership.knownSlots());
    gone.removeIf(slot -> slot > takeoverSlot || below.contains(slot));
    ownership.forget(gone);
    Set<Long> known = ownership.knownSlots();
    for (long slot : below.descendingSet()) {
      if (!known.contains(slot) && !slotIndex.isTakeover(slot) && !slotIndex.namesNoBlob(slot)) {
        SlotRead read = slotIndex.read(slot);
        if (read instanceof SlotRead.Found found
            && found.slot() instanceof SlotRecord.Manifest manifest) {
          ownership.found(manifest);
        } else if (read instanceof SlotRead.Unreadable unreadable) {
          LOG.warn("Left alone by garbage collection: {}", unreadable.problem().getMessage());
        }
      }
    }
  }

  private static boolean mayDelete(
      Incarnation incarnation, Ownership.Owner owner, SlotIndex slotIndex) {
    return incarnation.equals(owner.incarnation())
        || slotIndex.tookOverBelow(incarnation, owner.takeoverSlot());
  }
}
