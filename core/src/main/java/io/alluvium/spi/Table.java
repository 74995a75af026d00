package io.alluvium.spi;

import io.alluvium.serializer.ByteWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;

/**
 * The local structure that answers reads: a sorted map from bytes to bytes, unsigned lexicographic
 * order. The typed states only encode and decode; the table and the changelog receive the same
 * bytes.
 *
 * <p>A change of one key that throws a {@code StateBackendException} was not applied. After any
 * other exception, and after a {@link #deleteRange} that failed otherwise than with {@code CLOSED}
 * or {@code INVALID}, no checkpoint is taken any more.
 *
 * <p>Confined to the task thread, except where a method says otherwise. User code never runs inside
 * a call. A key starts with its key group (two bytes, big endian).
 */
public interface Table extends AutoCloseable {

  /**
   * Reads the value of a key; merged operands come concatenated in order.
   *
   * @param into its content is replaced by the value; unspecified when there is none
   * @return whether the key has a value
   */
  boolean get(byte[] key, int keyLength, ByteWriter into);

  void put(byte[] key, int keyLength, byte[] value, int valueLength);

  void delete(byte[] key, int keyLength);

  /**
   * Removes every key that starts with the prefix. Throws {@code CLOSED} and {@code INVALID} only
   * when it removed nothing, or is closed.
   */
  void deleteRange(byte[] prefix, int prefixLength);

  /**
   * Appends an operand to the value of a key (bytes concatenated); a key without a value gets the
   * operand as its value.
   */
  void merge(byte[] key, int keyLength, byte[] operand, int operandLength);

  /**
   * Iterates over the keys that start with the prefix, ascending, as they were when the scan was
   * opened; writes during the scan neither disturb nor show.
   */
  TableScan scan(byte[] prefix, int prefixLength);

  /**
   * As {@link #scan}, without the keys before {@code from}. A table in which deleted keys slow a
   * scan down until they are compacted away should not even pass them.
   *
   * @param from starts with the prefix; need not exist
   */
  default TableScan scanFrom(byte[] prefix, int prefixLength, byte[] from, int fromLength) {
    return new LaterScan(scan(prefix, prefixLength), Arrays.copyOf(from, fromLength));
  }

  /**
   * Begins to write the table's content as files under {@code directory}, without stopping the task
   * thread. The files hold every change applied before this call and an unknown part of the later
   * ones. Called by the materializer's thread; completes there or on the task thread (a heap table
   * emits slices in {@link #advance()}).
   *
   * @param directory absent; made by the table on the same file system as its own files
   */
  CompletableFuture<TableSnapshot> snapshot(Path directory);

  /**
   * The same as {@link #snapshot}, at once on the task thread: the files hold exactly the changes
   * applied so far. Stops the task; for running without a changelog.
   */
  TableSnapshot snapshotNow(Path directory);

  /**
   * Called on the task thread between records: does one bounded slice of work for a snapshot, if
   * there is any.
   */
  default void advance() {}

  /**
   * Applies coalesced changes in bulk, at a restore, before the task uses the table. May be called
   * from several threads at once for disjoint key groups.
   */
  void apply(SortedChanges changes);

  /**
   * Releases everything, native memory included; the local files stay. Idempotent; any thread.
   * Calls that are inside end first, native memory is never freed under them. Every later call
   * throws {@code CLOSED}, those of open scans too; snapshots that are running fail with it.
   */
  @Override
  void close();
}
