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
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
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
   */

  private static final Logger LOG = LoggerFactory.getLogger(GarbageCollector.class);

  /** Temporary files of others are left alone in the background for that long. */
  private static final Duration LEFTOVERS_AGE = Duration.ofHours(1);

  private final BlobStore store;
  private final SlotStore slots;
  private final Ownership ownership;
  private final BlobLedger ledger;
  private final Execution execution;
  private final Metrics.Counter deleted;
  private final Metrics.Counter failures;
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
  }

  /** The job is owned: collections make sense from here on. */
  void start(SlotIndex ofOwner) {
    synchronized (lock) {
      index = ofOwner;
    }
  }

  /** Collects soon, in the background. A failure is retried after the next commit. */
  void afterCommit() {
    synchronized (lock) {
      if (running != null) {
        askedAgain = true;
        return;
      }
      running = new CompletableFuture<>();
    }
    try {
      execution.downloads().execute(this::runInBackground);
    } catch (RejectedExecutionException | VirtualMachineError e) {
      // The process is closing, or has no memory for a thread; the next owner, or the next commit,
      // collects what is left.
      giveUp();
    }
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
        collect(isEverythingListed() ? Scope.KNOWN : Scope.LISTED);
      } catch (RuntimeException | VirtualMachineError | LinkageError e) {
        // Whatever it is, it must not leave a collection behind that never ends.
        if (Thread.currentThread().isInterrupted()) {
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
    try {
      do {
        collect(Scope.LISTED_AT_END);
      } while (!finish());
      done = true;
    } finally {
      if (!done) {
        giveUp();
      }
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

  private void collect(Scope scope) {
    if (!ownership.mayCollect()) {
      return;
    }
    Set<Long> voidSlots = scope == Scope.KNOWN ? Set.of() : listEverything();
    Set<BlobName> garbage =
        ledger.plan(
            scope == Scope.LISTED_AT_END ? BlobLedger.Fresh.COLLECTED : BlobLedger.Fresh.SPARED,
            ownership::reachable);
    // After the plan: a manifest that is subsumed only now keeps its blobs until the next time.
    Set<Long> subsumed = new TreeSet<>(ownership.subsumed());
    subsumed.addAll(voidSlots);
    if (!subsumed.isEmpty() && ownership.mayCollect()) {
      slots.delete(subsumed);
      ownership.forget(subsumed);
    }
    if (!garbage.isEmpty() && ownership.mayCollect()) {
      store.delete(garbage.stream().map(BlobName::toString).sorted().toList());
      ledger.forget(garbage);
      deleted.add(garbage.size());
    }
    if (scope != Scope.KNOWN) {
      store.deleteLeftovers(scope == Scope.LISTED ? LEFTOVERS_AGE : Duration.ZERO);
      synchronized (lock) {
        everythingListed = true;
      }
    }
  }

  /**
   * Tells ledger and ownership about every blob and manifest that this owner may delete one day.
   *
   * @return own slots that were deleted and came back, by a put that was under way for long
   */
  private Set<Long> listEverything() {
    List<BlobInfo> blobs = store.list(BlobName.PREFIX);
    NavigableMap<Long, BlobInfo> listing = slots.list();
    Ownership.Owner owner = ownership.owner();
    SlotIndex slotIndex;
    synchronized (lock) {
      slotIndex = Objects.requireNonNull(index, "started with the takeover");
    }
    slotIndex.listed(listing);
    readSlotsBelow(owner.takeoverSlot(), slotIndex);
    Set<BlobName> deletable = new HashSet<>();
    for (BlobInfo blob : blobs) {
      BlobName.tryParse(blob.name())
          .filter(name -> mayDelete(name.incarnation(), owner, slotIndex))
          .ifPresent(deletable::add);
    }
    ledger.inherit(deletable);
    Set<Long> voidSlots = new TreeSet<>();
    for (long slot : listing.keySet()) {
      if (ownership.isOwnSlot(slot)) {
        voidSlots.add(slot);
      }
    }
    voidSlots.removeAll(ownership.knownSlots());
    return voidSlots;
  }

  private void readSlotsBelow(long takeoverSlot, SlotIndex slotIndex) {
    NavigableSet<Long> below = slotIndex.below(takeoverSlot);
    Set<Long> gone = new TreeSet<>(ownership.knownSlots());
    gone.removeIf(slot -> slot > takeoverSlot || below.contains(slot));
    ownership.forget(gone);
    Set<Long> known = ownership.knownSlots();
    for (long slot : below) {
      if (!known.contains(slot) && !slotIndex.isTakeover(slot)) {
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
        || slotIndex.takeoverOf(incarnation, owner.takeoverSlot()).isPresent();
  }
}
