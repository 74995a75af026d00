package io.alluvium.internal.catalog;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.Incarnation;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The slots of a job's chain as they were listed, read when somebody needs them. Remembers which
 * incarnation took over where: a slot never changes, and no takeover record is ever deleted.
 * Thread-safe; guarded by {@code lock}, which is not held while a slot is read. Calls fail with
 * {@code UNAVAILABLE} when the store does and may be repeated.
 */
final class SlotIndex {

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

  @GuardedBy("lock")
  private final NavigableSet<Long> takeoverSlots = new TreeSet<>();

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
      if (read instanceof SlotRead.Found found
          && found.slot() instanceof SlotRecord.Takeover takeover) {
        takeovers.put(takeover.header().writer(), slot);
        takeoverSlots.add(slot);
      }
    }
    return read;
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
   * Reads from the greatest slot down until one can be read, so that a directory of another job is
   * noticed before anything is written to it.
   *
   * @throws StateBackendException {@code INVALID} for another job, {@code INCOMPATIBLE} when a
   *     newer version wrote the slot
   */
  void checkJob() {
    for (long slot : below(Long.MAX_VALUE).descendingSet()) {
      if (isTakeover(slot)) {
        return;
      }
      SlotRead read = read(slot);
      if (read instanceof SlotRead.Found) {
        return;
      }
      if (read instanceof SlotRead.Unreadable unreadable
          && unreadable.problem().kind() == StateBackendException.Kind.INCOMPATIBLE) {
        throw unreadable.problem();
      }
    }
  }

  /** The slots below {@code slot}, as listed last. */
  NavigableSet<Long> below(long slot) {
    synchronized (lock) {
      return new TreeSet<>(sizes.headMap(slot, false).keySet());
    }
  }

  /** Whether a slot was read and holds a takeover record. */
  boolean isTakeover(long slot) {
    synchronized (lock) {
      return takeoverSlots.contains(slot);
    }
  }

  /**
   * Where an incarnation took over below {@code limit}; reads from there down until it is found.
   */
  OptionalLong takeoverOf(Incarnation incarnation, long limit) {
    while (true) {
      long next;
      synchronized (lock) {
        Long known = takeovers.get(incarnation);
        if (known != null) {
          return known < limit ? OptionalLong.of(known) : OptionalLong.empty();
        }
        Long lower = unread.lower(limit);
        if (lower == null) {
          return OptionalLong.empty();
        }
        next = lower;
      }
      SlotRead unused = read(next);
    }
  }
}
