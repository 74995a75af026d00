package io.alluvium;

import io.alluvium.internal.arguments.Arguments;
import io.alluvium.spi.Incarnation;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The chain of a job's checkpoints and who owns it. The owner is the writer of the greatest slot;
 * whoever finds its slot taken by another is FENCED, stops and deletes nothing (C3). Thread-safe;
 * calls block on the blob store.
 */
public interface CheckpointCatalog {

  /**
   * Becomes the owner of the job in this directory, whoever owned it before.
   *
   * @param job name of the job; a directory belongs to one job, another name is {@code INVALID}
   * @return the checkpoint to restore from, or empty when there is none. When the newest one is
   *     damaged: {@code CORRUPT}, or, with {@code alluvium.restore.fallback}, the newest sound one
   *     below
   */
  Optional<Checkpoint> takeOver(String job);

  /**
   * Becomes the owner as {@link #takeOver} does, to start the job over: nothing is restored,
   * damaged checkpoints do not matter, and the first commit retires every earlier checkpoint,
   * however many are retained otherwise. Until then they stay, so that a start that fails has lost
   * nothing. A slot that cannot be read is left alone for ever: it may be a takeover record.
   *
   * @throws StateBackendException {@code INCOMPATIBLE} when a newer version wrote the newest slot
   */
  void startOver(String job);

  /** The identity of this owner; {@code INVALID} before {@link #takeOver}. */
  Incarnation incarnation();

  /**
   * Whether another incarnation's takeover lies below this owner's own, so that what it left behind
   * (a prepared transaction) may be cleaned up. False for an unknown or a later one.
   */
  boolean isOlder(Incarnation other);

  /** The newest confirmed checkpoint of this owner, or the one it restored from. */
  Optional<Checkpoint> latest();

  /**
   * The greatest id that is known of the chain, checkpoints included that a fallback skipped or
   * that {@link #startOver} left behind: the id of a commit must be greater. Empty when there never
   * was a checkpoint that can be read.
   */
  OptionalLong greatestCheckpointId();

  /**
   * The checkpoint to try when restoring from {@code damaged} failed with {@code CORRUPT}: the next
   * older sound one. It must be restored {@link RestoreMode#DETACHED}, and what it skips may
   * already have been committed by sinks. Empty when there is none or {@code
   * alluvium.restore.fallback} is off.
   */
  Optional<Checkpoint> fallbackFrom(Checkpoint damaged);

  /**
   * How the checkpoint that {@link #takeOver} or {@link #fallbackFrom} gave must be restored:
   * {@code DETACHED} after any fallback, else {@code REUSE}.
   */
  RestoreMode restoreMode();

  /**
   * Stores the manifest of a checkpoint and retires old ones. When this returns the checkpoint is
   * confirmed; the caller then confirms it to every keyed backend and commits its sinks. An unknown
   * outcome is retried on the same slot until the answer is known.
   *
   * @param checkpointId greater than any before in the chain, those that a fallback skipped
   *     included
   * @param handles one per subtask, together the whole key space of the job
   * @param metadata the caller's own bytes, for example source offsets and prepared transactions
   * @return what was stored; {@link Commit#written()} is false when nothing changed since the last
   *     one (then the last manifest stands for it)
   * @throws StateBackendException {@code INVALID} when a handle comes from a backend that this
   *     process made empty, although {@link #latest} held state for its key groups: that state
   *     would be lost; {@code FENCED} when another owner has taken over; {@code UNAVAILABLE} when
   *     the store stayed away for too long: the outcome is unknown, this owner must stop, delete
   *     nothing and roll nothing back
   */
  Commit commit(long checkpointId, List<CheckpointHandle> handles, byte[] metadata);

  /**
   * The outcome of a commit.
   *
   * @param checkpoint the checkpoint that a restore would now use
   * @param written whether a manifest was written
   * @param manifestBytes its size
   */
  record Commit(Checkpoint checkpoint, boolean written, long manifestBytes) {
    public Commit {
      Arguments.check(checkpoint, "checkpoint");
    }
  }

  /**
   * Deletes now, on this thread, what only retired checkpoints needed; otherwise this happens in
   * the background.
   */
  void collectGarbage();
}
