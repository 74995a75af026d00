package io.alluvium.internal.catalog;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.CheckpointHandle;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Incarnation;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * The slots of a job's chain as they were listed, read when somebody needs them. Remembers which
 * incarnation took over where: a slot never changes, and no takeover record is ever deleted.
 * Thread-safe; guarded by {@code lock}, which is not held while a slot is read. Calls fail with
 * {@code UNAVAILABLE} when the store does and may be repeated.
 */
final class SlotIndex {

  /*
   * Takeover records are never deleted, so that after years of restarts, or a night of crashes, they are nearly all there
   * is. What is known of them without reading each:
   *
   * 1. A takeover record `follows` the greatest slot below that holds anything else. Its writer read the record at the
   *    greatest slot, and passes on what that one follows. So two reads find the newest manifest, however many starts
   *    stored none. What lies between never changes: it is above every manifest, where nothing is deleted.
   * 2. A slot as small as a takeover record names no blob. A collection need not read it.
   * 3. The incarnations of the blobs that a manifest names took over below it.
   */
  private final SlotStore slots;
  private final String job;
  private final Object lock = new Object();

  /** Size in bytes of each slot that is there as far as is known. */
  @GuardedBy("lock")
  private final NavigableMap<Long, Long> sizes = new TreeMap<>();

  @GuardedBy("lock")
  private final NavigableSet<Long> unread = new TreeSet<>();

  @GuardedBy("lock")
  private final Map<Incarnation, Long> takeovers = new HashMap<>();

  /** Slots that hold takeover records, whether or not they were read. */
  @GuardedBy("lock")
  private final NavigableSet<Long> takeoverSlots = new TreeSet<>();

  /** A slot below which an incarnation took over, as a manifest there shows. */
  @GuardedBy("lock")
  private final Map<Incarnation, Long> below = new HashMap<>();

  SlotIndex(SlotStore slots, String job) {
    this.slots = slots;
    this.job = job;
  }

  /** Takes over what a listing says. */
  void listed(NavigableMap<Long, BlobInfo> listing) {
    synchronized (lock) {
      listing.forEach(
          (slot, blob) -> {
            if (sizes.put(slot, blob.sizeBytes()) == null) {
              unread.add(slot);
            }
          });
      sizes.keySet().retainAll(listing.keySet());
      unread.retainAll(listing.keySet());
    }
  }

  /**
   * Reads a slot that was listed.
   *
   * @throws StateBackendException {@code INVALID} when it belongs to another job
   */
  SlotRead read(long slot) {
    long sizeBytes;
    synchronized (lock) {
      Long size = sizes.get(slot);
      if (size == null) {
        return new SlotRead.Missing();
      }
      sizeBytes = size;
    }
    SlotRead read = slots.read(slot, sizeBytes);
    if (read instanceof SlotRead.Found found) {
      checkJob(found.slot().header());
    }
    synchronized (lock) {
      unread.remove(slot);
      if (read instanceof SlotRead.Found found) {
        learn(slot, found.slot());
      }
    }
    return read;
  }

  @GuardedBy("lock")
  private void learn(long slot, SlotRecord found) {
    if (found instanceof SlotRecord.Takeover takeover) {
      takeovers.put(takeover.header().writer(), slot);
      takeoverSlots.add(slot);
      long follows = takeover.header().follows();
      if (follows >= 0 && follows < slot) {
        takeoverSlots.addAll(sizes.subMap(follows, false, slot, false).keySet());
      }
    } else if (found instanceof SlotRecord.Manifest manifest) {
      below.merge(manifest.header().writer(), slot, Math::min);
      for (CheckpointHandle handle : manifest.handles()) {
        for (BlobName blob : handle.blobs()) {
          below.merge(blob.incarnation(), slot, Math::min);
        }
      }
    }
  }

  private void checkJob(SlotRecord.Header header) {
    if (!header.job().equals(job)) {
      throw StateBackendException.invalid(
          "'"
              + slots.uri()
              + "' holds the checkpoints of job '"
              + header.job()
              + "', not of '"
              + job
              + "'; one directory belongs to one job, so name another directory or that job");
    }
  }

  /**
   * Reads from the greatest slot down to one that holds no takeover record, so that a directory of
   * another job is noticed before anything is written to it.
   *
   * @param damaged told what is wrong with a slot that stands above every manifest there is
   * @return that slot, for the next takeover record to follow; 0 when there is none
   * @throws StateBackendException {@code INVALID} for another job, {@code INCOMPATIBLE} when a
   *     newer version wrote the slot
   */
  long checkJob(Consumer<StateBackendException> damaged) {
    long follows = 0;
    boolean checked = false;
    // The owner deletes a manifest when there is a newer one, which the listing does not show.
    boolean newerStored = false;
    for (long slot : below(Long.MAX_VALUE).descendingSet()) {
      if (!isTakeover(slot)) {
        SlotRead read = read(slot);
        if (read instanceof SlotRead.Unreadable unreadable
            && unreadable.problem().kind() == StateBackendException.Kind.INCOMPATIBLE) {
          throw unreadable.problem();
        } else if (read instanceof SlotRead.Unreadable unreadable && !newerStored) {
          damaged.accept(unreadable.problem());
        }
        newerStored |= read instanceof SlotRead.Missing;
        checked |= read instanceof SlotRead.Found;
      }
      if (!isTakeover(slot)) {
        follows = Math.max(follows, slot);
      }
      if (checked && follows > 0) {
        break;
      }
    }
    return follows;
  }

  /** The slots below {@code slot}, as listed last. */
  NavigableSet<Long> below(long slot) {
    synchronized (lock) {
      return new TreeSet<>(sizes.headMap(slot, false).keySet());
    }
  }

  /** Whether a slot is known to hold a takeover record. */
  boolean isTakeover(long slot) {
    synchronized (lock) {
      return takeoverSlots.contains(slot);
    }
  }

  /** Whether a slot is too small for a manifest that names a blob. */
  boolean namesNoBlob(long slot) {
    synchronized (lock) {
      Long size = sizes.get(slot);
      return size != null && size <= ManifestFormat.longestTakeover(job, slot);
    }
  }

  /**
   * Whether an incarnation took over below {@code limit}; reads from there down until it is found.
   */
  boolean tookOverBelow(Incarnation incarnation, long limit) {
    while (true) {
      long next;
      synchronized (lock) {
        Long known = takeovers.get(incarnation);
        if (known != null) {
          return known < limit;
        }
        Long bound = below.get(incarnation);
        if (bound != null && bound <= limit) {
          return true;
        }
        Long lower = unread.lower(limit);
        if (lower == null) {
          return false;
        }
        next = lower;
      }
      SlotRead unused = read(next);
    }
  }
}
