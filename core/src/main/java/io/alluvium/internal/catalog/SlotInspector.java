package io.alluvium.internal.catalog;

import io.alluvium.Checkpoint;
import io.alluvium.CheckpointInspector;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.arguments.Arguments;
import io.alluvium.internal.catalog.CatalogSettings.Fencing;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Incarnation;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.ObjLongConsumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks at a chain from outside. Thread-safe; calls block on the store. For whoever wires a process
 * together: {@code verifySegment} is {@code ChangelogStorage::verify} of the configured storage.
 */
public final class SlotInspector implements CheckpointInspector {

  private static final Logger LOG = LoggerFactory.getLogger(SlotInspector.class);

  /** How often the chain is read again because its owner deleted a slot meanwhile. */
  private static final int MAX_READS = 20;

  private final BlobStore store;
  private final SlotStore slots;
  private final Execution execution;
  private final BiFunction<BlobStore, BlobName, ChangelogStorage.Verification> verifySegment;

  public SlotInspector(
      BlobStore store,
      Execution execution,
      BiFunction<BlobStore, BlobName, ChangelogStorage.Verification> verifySegment) {
    this.store = store;
    this.slots = new SlotStore(store, Fencing.PUT_IF_ABSENT);
    this.execution = execution;
    this.verifySegment = verifySegment;
  }

  @Override
  public List<Entry> list() {
    // A running job retires the only manifest that was listed: what it stored since is to be seen.
    ChainView chain = readUntil(ChainView::showsNewest);
    Map<Long, StateBackendException> problems = chain.problems();
    List<Entry> entries = new ArrayList<>();
    chain
        .blobs()
        .forEach(
            (slot, blob) -> {
              Optional<String> problem =
                  Optional.ofNullable(problems.get(slot)).map(SlotInspector::message);
              if (problem.isPresent() || chain.manifests().containsKey(slot)) {
                entries.add(entry(blob, Optional.ofNullable(chain.manifests().get(slot)), problem));
              }
            });
    return entries;
  }

  @Override
  public List<Entry> newest() {
    for (int i = 0; i < MAX_READS; i++) {
      Optional<List<Entry>> newest = newest(slots.list());
      if (newest.isPresent()) {
        return newest.get();
      }
    }
    throw changesTooFast();
  }

  /** Empty when a slot was gone, so that there is a newer one. */
  private Optional<List<Entry>> newest(NavigableMap<Long, BlobInfo> listing) {
    List<Entry> entries = new ArrayList<>();
    long takeoversDownTo = Long.MAX_VALUE;
    for (Map.Entry<Long, BlobInfo> listed : listing.descendingMap().entrySet()) {
      long slot = listed.getKey();
      BlobInfo blob = listed.getValue();
      if (slot > takeoversDownTo) {
        continue;
      }
      SlotRead read = slots.read(slot, blob.sizeBytes());
      if (read instanceof SlotRead.Missing) {
        return Optional.empty();
      } else if (read instanceof SlotRead.Unreadable unreadable) {
        entries.add(entry(blob, Optional.empty(), Optional.of(message(unreadable.problem()))));
      } else if (read instanceof SlotRead.Found found
          && found.slot() instanceof SlotRecord.Manifest manifest) {
        entries.add(entry(blob, Optional.of(manifest.checkpoint()), Optional.empty()));
        break;
      } else if (read instanceof SlotRead.Found found && found.slot().header().follows() >= 0) {
        takeoversDownTo = Math.min(slot - 1, found.slot().header().follows());
      }
    }
    return Optional.of(entries);
  }

  private static Entry entry(
      BlobInfo blob, Optional<Checkpoint> checkpoint, Optional<String> problem) {
    return new Entry(blob.name(), blob.sizeBytes(), checkpoint, problem);
  }

  private static String message(StateBackendException e) {
    return String.valueOf(e.getMessage());
  }

  @Override
  public Verification verify(long checkpointId, ObjLongConsumer<String> progress) {
    Arguments.check(progress, "progress");
    return new CheckpointVerifier(store, slots, verifySegment, progress).verify(checkpointId);
  }

  /*
   * Blobs are listed before the chain is read. A blob of the owner that is not reachable may be about to be named by its
   * next manifest, so the owner's are spared while it may be running, and retiring checkpoints is left to it. Whatever an older incarnation left is needed only
   * if the newest manifest reaches it: the owner restored from that one or from one before it, and names nothing of
   * others besides. The chain is read again when a slot was gone, since a newer manifest then took its place.
   */
  @Override
  public Collection collect(Duration grace, int retained, CollectMode mode) {
    Arguments.check(grace, "grace");
    Arguments.check(mode, "mode");
    if (grace.isNegative()) {
      throw StateBackendException.invalid("the grace period " + grace + " must not be negative");
    }
    if (retained < 1) {
      throw StateBackendException.invalid(
          "at least 1 checkpoint must be retained, not " + retained);
    }
    List<BlobInfo> blobs = store.list(BlobName.PREFIX);
    ChainView chain = readUntil(view -> view.missing().isEmpty());
    for (StateBackendException problem : chain.damaged().values()) {
      if (problem.kind() == Kind.INCOMPATIBLE) {
        throw problem;
      }
    }
    boolean spareOwner = isOwnerSpared(chain, blobs, grace);
    Set<Long> retired = spareOwner ? Set.of() : chain.beyond(retained);
    Set<BlobName> reachable = chain.reachable(retired);
    List<String> garbage = new ArrayList<>();
    long bytes = 0;
    int kept = 0;
    for (BlobInfo blob : blobs) {
      Optional<BlobName> name = BlobName.tryParse(blob.name());
      if (name.isEmpty() || reachable.contains(name.get())) {
        continue;
      }
      if (isGarbage(name.get().incarnation(), chain, spareOwner)) {
        garbage.add(blob.name());
        bytes += blob.sizeBytes();
      } else {
        kept++;
      }
    }
    if (mode == CollectMode.DELETE) {
      if (!retired.isEmpty()) {
        slots.delete(retired);
      }
      if (!garbage.isEmpty()) {
        store.delete(garbage);
      }
      store.deleteLeftovers(grace);
    }
    List<String> deleted = new ArrayList<>();
    for (Map.Entry<Long, BlobInfo> slot : chain.blobs().entrySet()) {
      if (retired.contains(slot.getKey())) {
        deleted.add(slot.getValue().name());
        bytes += slot.getValue().sizeBytes();
      }
    }
    deleted.addAll(garbage);
    return new Collection(deleted, bytes, kept);
  }

  private ChainView readUntil(Predicate<ChainView> enough) {
    for (int i = 0; i < MAX_READS; i++) {
      ChainView chain = ChainView.read(slots);
      if (enough.test(chain)) {
        return chain;
      }
    }
    throw changesTooFast();
  }

  private StateBackendException changesTooFast() {
    return StateBackendException.unavailable(
        "the slots in '" + store.uri() + "' change faster than they can be read; try again later",
        new IllegalStateException("slots were gone in " + MAX_READS + " readings"));
  }

  private static boolean isGarbage(Incarnation writer, ChainView chain, boolean spareOwner) {
    Optional<Incarnation> owner = chain.owner();
    if (owner.isEmpty() || chain.isNewestDamaged()) {
      return false;
    }
    if (writer.equals(owner.get())) {
      return !spareOwner;
    }
    Long ownerTakeover = chain.takeovers().get(owner.get());
    Long takeover = chain.takeovers().get(writer);
    return ownerTakeover != null && takeover != null && takeover < ownerTakeover;
  }

  /** Whether the owner may be running, going by the time since it last stored anything. */
  private boolean isOwnerSpared(ChainView chain, List<BlobInfo> blobs, Duration grace) {
    if (chain.isNewestDamaged()) {
      LOG.warn(
          "Nothing is collected in '{}': what its newest slot refers to is unknown: {}",
          store.uri(),
          chain.damaged().lastEntry().getValue().getMessage());
      return true;
    }
    if (grace.isZero() || chain.owner().isEmpty()) {
      return false;
    }
    Incarnation owner = chain.owner().get();
    Instant newest = Instant.MIN;
    for (BlobInfo blob : blobs) {
      if (BlobName.tryParse(blob.name()).filter(n -> n.incarnation().equals(owner)).isPresent()) {
        newest = later(newest, blob.lastModified());
      }
    }
    for (BlobInfo blob : chain.blobs().values()) {
      long slot = SlotNames.tryParse(blob.name()).orElseThrow();
      if (owner.equals(chain.writers().get(slot))) {
        newest = later(newest, blob.lastModified());
      }
    }
    Instant now = Instant.ofEpochMilli(execution.currentTimeMillis());
    return newest.isAfter(now.minus(grace));
  }

  private static Instant later(Instant a, Instant b) {
    return a.isAfter(b) ? a : b;
  }
}
