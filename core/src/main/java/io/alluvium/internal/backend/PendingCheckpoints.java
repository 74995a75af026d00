package io.alluvium.internal.backend;

import io.alluvium.CheckpointHandle;
import io.alluvium.StateBackendException;
import io.alluvium.internal.materialize.Bases;
import io.alluvium.spi.BlobName;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The checkpoints of one backend between their trigger and their verdict; the one owner of these
 * transitions (C1):
 *
 * <pre>
 *   triggered -> durable -> confirmed
 *       |           |
 *       +-----------+----> aborted
 * </pre>
 *
 * <p>Confirmed ones are the catalog's business. Thread-safe; guarded by {@code this}.
 */
final class PendingCheckpoints {

  /** Guarded by the owner's lock. */
  private static final class Pending {
    final long position;
    final CompletableFuture<Bases.Base> base;
    @Nullable CheckpointHandle handle;

    Pending(long position, CompletableFuture<Bases.Base> base) {
      this.position = position;
      this.base = base;
    }
  }

  private final TreeMap<Long, Pending> pending = new TreeMap<>();
  private long lastTriggered = Long.MIN_VALUE;

  /** Refuses an id that does not increase. */
  synchronized void checkId(long checkpointId) {
    if (checkpointId <= lastTriggered) {
      throw StateBackendException.invalid(
          "checkpoint id " + checkpointId + " must be greater than the last one, " + lastTriggered);
    }
  }

  /**
   * Triggered: from now on what it stands on is kept.
   *
   * @param position where its changelog tail starts
   * @param base what it stands on, already there or still being stored
   */
  synchronized void trigger(long checkpointId, long position, CompletableFuture<Bases.Base> base) {
    checkId(checkpointId);
    lastTriggered = checkpointId;
    pending.put(checkpointId, new Pending(position, base));
  }

  /**
   * Durable: from now on every blob of the handle is kept. Nothing happens when it was aborted
   * meanwhile.
   */
  synchronized void durable(CheckpointHandle handle) {
    Pending checkpoint = pending.get(handle.checkpointId());
    if (checkpoint != null) {
      checkpoint.handle = handle;
    }
  }

  /** Confirmed: it and every older one is no longer pending. */
  synchronized void confirm(long checkpointId) {
    pending.headMap(checkpointId, true).clear();
  }

  synchronized void abort(long checkpointId) {
    pending.remove(checkpointId);
  }

  /** Where the changelog is still needed from; {@code none} when nothing is pending. */
  synchronized long neededFrom(long none) {
    long least = none;
    for (Pending checkpoint : pending.values()) {
      least = Math.min(least, checkpoint.position);
    }
    return least;
  }

  /** Blobs that a manifest still to be stored may name. */
  synchronized Set<BlobName> liveBlobs() {
    Set<BlobName> live = new HashSet<>();
    for (Map.Entry<Long, Pending> entry : pending.entrySet()) {
      Pending checkpoint = entry.getValue();
      if (checkpoint.handle != null) {
        live.addAll(checkpoint.handle.blobs());
      } else if (checkpoint.base.isDone() && !checkpoint.base.isCompletedExceptionally()) {
        Bases.addBlobs(checkpoint.base.join(), live);
      }
    }
    return live;
  }
}
