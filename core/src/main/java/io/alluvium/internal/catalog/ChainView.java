package io.alluvium.internal.catalog;

import io.alluvium.Checkpoint;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Incarnation;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Every slot of a chain as it was read once, from outside. Immutable after {@link #read}.
 *
 * @param blobs each slot's blob as listed, those left out that were gone when they were read
 * @param takeovers slot of each incarnation's takeover record
 * @param writers who wrote a slot, as far as it can be read
 * @param manifests by slot
 * @param damaged what is wrong with a slot that cannot be read, by slot
 * @param givenUp the damaged slots that the newest manifest is not concerned about
 * @param missing slots that were listed and gone when they were read
 */
record ChainView(
    NavigableMap<Long, BlobInfo> blobs,
    Map<Incarnation, Long> takeovers,
    Map<Long, Incarnation> writers,
    NavigableMap<Long, Checkpoint> manifests,
    NavigableMap<Long, StateBackendException> damaged,
    Set<Long> givenUp,
    Set<Long> missing) {

  static ChainView read(SlotStore slots) {
    ChainView view =
        new ChainView(
            slots.list(),
            new HashMap<>(),
            new HashMap<>(),
            new TreeMap<>(),
            new TreeMap<>(),
            new HashSet<>(),
            new HashSet<>());
    view.blobs.forEach((slot, blob) -> view.add(slot, slots.read(slot, blob.sizeBytes())));
    view.missing.forEach(view.blobs::remove);
    return view;
  }

  private void add(long slot, SlotRead read) {
    if (read instanceof SlotRead.Found found) {
      Incarnation writer = found.slot().header().writer();
      writers.put(slot, writer);
      if (found.slot() instanceof SlotRecord.Manifest manifest) {
        manifests.put(slot, manifest.checkpoint());
        // Slots are read in ascending order: the last word is the newest one's.
        givenUp.clear();
        givenUp.addAll(manifest.givenUp());
      } else {
        takeovers.put(writer, slot);
      }
    } else if (read instanceof SlotRead.Unreadable unreadable) {
      damaged.put(slot, unreadable.problem());
    } else {
      missing.add(slot);
    }
  }

  /**
   * The owner: whoever wrote the greatest slot. Empty when that cannot be read, or for no chain.
   */
  Optional<Incarnation> owner() {
    return blobs.isEmpty() ? Optional.empty() : Optional.ofNullable(writers.get(blobs.lastKey()));
  }

  /** Whether a slot that cannot be read stands above every manifest that can. */
  boolean isNewestDamaged() {
    return !damaged.isEmpty() && (manifests.isEmpty() || damaged.lastKey() > manifests.lastKey());
  }

  /** Whether no slot above the newest manifest was gone when it was read. */
  boolean showsNewest() {
    return missing.stream().allMatch(slot -> !manifests.isEmpty() && slot < manifests.lastKey());
  }

  /** Damage that somebody should know of. */
  NavigableMap<Long, StateBackendException> problems() {
    NavigableMap<Long, StateBackendException> problems = new TreeMap<>(damaged);
    problems.keySet().removeAll(givenUp);
    return problems;
  }

  /**
   * The slots of all manifests but the newest ones; none as long as the newest owner has not stored
   * a manifest above whatever it was restored from.
   */
  Set<Long> beyond(int retained) {
    if (manifests.size() <= retained || !manifests.lastKey().equals(blobs.lastKey())) {
      return Set.of();
    }
    Set<Long> slots = new TreeSet<>(manifests.keySet());
    manifests.descendingKeySet().stream().limit(retained).forEach(slots::remove);
    return slots;
  }

  /** Names of all blobs that some manifest reaches, but for those in some slots. */
  Set<BlobName> reachable(Set<Long> without) {
    Set<BlobName> names = new HashSet<>();
    manifests.forEach(
        (slot, checkpoint) -> {
          if (!without.contains(slot)) {
            checkpoint.handles().forEach(handle -> names.addAll(handle.blobs()));
          }
        });
    return names;
  }
}
