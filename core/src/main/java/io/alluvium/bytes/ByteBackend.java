package io.alluvium.bytes;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.RestoreReport;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.TableScan;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * The keyed state of one subtask as bytes: one sorted map, whose changes are logged and
 * checkpointed. Keys follow {@link io.alluvium.spi.KeyLayout}; what they and the values mean is the
 * caller's business, except that a value that was merged into follows {@link
 * io.alluvium.spi.ListOperands}.
 *
 * <p>Confined to one thread at a time, except {@link #confirm}, {@link #abort}, {@link #liveBlobs}
 * and {@link #close}, which any thread may call. That is not checked: an engine may let several
 * threads take turns under a lock of its own. If two use it at once all the same, the log shows it:
 * then every later checkpoint fails with {@code INVALID}. No call waits for storage, except that a
 * write waits while the changelog's bytes in flight are at their bound.
 */
public interface ByteBackend extends AutoCloseable {

  KeyGroupRange keyGroups();

  /** Reads the value of a key into {@code into}; false when there is none. */
  boolean get(byte[] key, int keyLength, ByteWriter into);

  void put(byte[] key, int keyLength, byte[] value, int valueLength);

  void delete(byte[] key, int keyLength);

  /** Removes every key that starts with {@code prefix}, which reaches at least to the state id. */
  void deleteRange(byte[] prefix, int prefixLength);

  /**
   * Appends an operand, tagged with {@link #nextSqn()}, to the value of a key; see {@link
   * io.alluvium.spi.ListOperands}.
   */
  void merge(byte[] key, int keyLength, byte[] operand, int operandLength);

  /**
   * Sets the value of a key without logging it; for filling a backend that was made {@link
   * io.alluvium.RestoreMode#DETACHED}, before its first checkpoint, which stores the whole table.
   */
  void load(byte[] key, int keyLength, byte[] value, int valueLength);

  /**
   * The keys that start with the prefix, ascending, as they are now. Closed with the backend at the
   * latest. May be handed over to another thread, which then closes it; nothing is read before.
   */
  TableScan scan(byte[] prefix, int prefixLength);

  /** As {@link #scan}, without the keys before {@code from}, which starts with the prefix. */
  TableScan scanFrom(byte[] prefix, int prefixLength, byte[] from, int fromLength);

  /**
   * A queue over the keys of one state that have the empty key and the empty namespace.
   *
   * @param keyGroups within the backend's
   */
  ByteQueue queue(int stateId, KeyGroupRange keyGroups, ByteQueue.Start start);

  /** The sequence number of the next change: the tag that a list operand must carry. */
  long nextSqn();

  /**
   * Takes a checkpoint: seals the changelog, notes its end and returns; as {@code
   * KeyedBackend.checkpoint}. The handle carries no key format and no registrations: the caller
   * stores its own.
   *
   * @param checkpointId greater than any before
   */
  CompletableFuture<CheckpointHandle> checkpoint(long checkpointId);

  /**
   * Takes a checkpoint that names no blob stored before: takes a snapshot of the table on the task
   * thread and stores it whole. Later checkpoints stand on it.
   */
  CompletableFuture<CheckpointHandle> checkpointAnew(long checkpointId);

  /**
   * Stores the whole table into another place, on its own: nothing is pending afterwards and no
   * checkpoint stands on it. The table's snapshot is taken on the task thread.
   *
   * @param into stays open until the future is done
   */
  CompletableFuture<CheckpointHandle> copy(long checkpointId, BlobStore into);

  /**
   * The checkpoint is kept. Aborts every older one that is still pending. Idempotent; of an id that
   * is not pending only the older ones are settled.
   */
  void confirm(long checkpointId);

  /** The checkpoint will never be used. Idempotent; an id that is not pending is ignored. */
  void abort(long checkpointId);

  /** Every blob that a later checkpoint, or a pending one, may name. */
  Set<BlobName> liveBlobs();

  /** Does a bounded piece of work that waits for the task thread. */
  void idle();

  RestoreReport restoreReport();

  /**
   * Stops and releases everything, native memory included; waits for the call into the table that
   * another thread is inside of. Later calls throw {@code CLOSED}. Idempotent.
   */
  @Override
  void close();
}
