package io.alluvium.internal.backend;

import io.alluvium.CheckpointHandle;
import io.alluvium.StateBackendException;
import io.alluvium.internal.materialize.Bases;
import io.alluvium.spi.BlobName;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The checkpoints of one backend between their trigger and their verdict; the one owner of these
 * transitions (C1), and of what they keep from being trimmed or collected:
 *
 * <pre>
 *   triggered -> durable -> confirmed
 *       |           |
 *       +-----------+----> aborted
 * </pre>
 *
 * <p>Confirmed ones are the catalog's business: what their manifests reach is kept by that.
 * Thread-safe; guarded by {@code this}.
 */
final class PendingCheckpoints {

  private static final Logger LOG = LoggerFactory.getLogger(PendingCheckpoints.class);

  /** No engine has so many under way; one that forgets the verdicts has them soon. */
  static final int TOLD_FROM = 200;

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

  private final Bases bases;
  private final LongConsumer trim;
  private final TreeMap<Long, Pending> pending = new TreeMap<>();
  private long lastTriggered = Long.MIN_VALUE;
  private boolean told;

  /**
   * Makes an empty one.
   *
   * @param bases what checkpoints stand on
   * @param trim lets go of the changes below a sequence number
   */
  PendingCheckpoints(Bases bases, LongConsumer trim) {
    this.bases = bases;
    this.trim = trim;
  }

  /** Refuses an id that does not increase; tells once when verdicts never come. */
  void checkId(long checkpointId) {
    int waiting;
    long oldest;
    synchronized (this) {
      checkIncreases(checkpointId);
      waiting = pending.size();
      if (told || waiting < TOLD_FROM) {
        return;
      }
      told = true;
      oldest = pending.firstKey();
    }
    LOG.warn(
        "{} checkpoints of one backend, from {} on, were neither confirmed nor aborted; what they"
            + " need is kept in memory and in storage until they are: give each a verdict, or"
            + " confirm the newest, which settles all older ones",
        waiting,
        oldest);
  }

  private synchronized void checkIncreases(long checkpointId) {
    if (checkpointId <= lastTriggered) {
      throw StateBackendException.invalid(
          "checkpoint id " + checkpointId + " must be greater than the last one, " + lastTriggered);
    }
  }

  /**
   * Triggered on the newest base, which is kept from now on together with its changelog. In one
   * step, or somebody could let go of that changelog in between.
   *
   * @param end of the checkpoint
   * @return the base; empty, and nothing triggered, when there is none that may be named
   */
  synchronized Optional<Bases.Base> triggerOnNewestBase(long checkpointId, long end) {
    Optional<Bases.Base> base = bases.bind(end);
    base.ifPresent(
        bound -> trigger(checkpointId, bound.position(), CompletableFuture.completedFuture(bound)));
    return base;
  }

  /**
   * Triggered on a base that is still being stored.
   *
   * @param position where the changelog tail starts
   */
  synchronized void trigger(long checkpointId, long position, CompletableFuture<Bases.Base> base) {
    checkIncreases(checkpointId);
    lastTriggered = checkpointId;
    pending.put(checkpointId, new Pending(position, base));
  }

  /** Durable: from now on every blob of the handle is kept, unless it was aborted meanwhile. */
  synchronized void durable(CheckpointHandle handle) {
    Pending checkpoint = pending.get(handle.checkpointId());
    if (checkpoint != null) {
      checkpoint.handle = handle;
    }
  }

  /** Confirmed: it and every older one is no longer pending. */
  void confirm(long checkpointId) {
    synchronized (this) {
      pending.headMap(checkpointId, true).clear();
    }
    trim();
  }

  void abort(long checkpointId) {
    synchronized (this) {
      pending.remove(checkpointId);
    }
    trim();
  }

  /** Lets go of changes that neither a pending nor a later checkpoint can need (P5). */
  void trim() {
    // Outside of the lock: whoever waits for a change that goes is told, and may do anything. A
    // point that is worked out stays right, because neither the newest base nor a later
    // checkpoint's ever goes back.
    trim.accept(neededFrom());
  }

  private synchronized long neededFrom() {
    long neededFrom = bases.newestPosition(0);
    for (Pending checkpoint : pending.values()) {
      neededFrom = Math.min(neededFrom, checkpoint.position);
    }
    return neededFrom;
  }

  synchronized boolean isEmpty() {
    return pending.isEmpty();
  }

  /** Blobs that a manifest still to be stored may name. */
  Set<BlobName> liveBlobs() {
    List<CheckpointHandle> handles = new ArrayList<>();
    List<Bases.Base> bound = new ArrayList<>();
    synchronized (this) {
      for (Pending checkpoint : pending.values()) {
        if (checkpoint.handle != null) {
          handles.add(checkpoint.handle);
        } else if (checkpoint.base.isDone() && !checkpoint.base.isCompletedExceptionally()) {
          bound.add(checkpoint.base.join());
        }
      }
    }
    // There may be thousands of names, and the task waits for the lock in its sync part.
    Set<BlobName> live = new HashSet<>();
    handles.forEach(handle -> live.addAll(handle.blobs()));
    bound.forEach(base -> Bases.addBlobs(base, live));
    return live;
  }
}
