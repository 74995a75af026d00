package io.alluvium.spi;

import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * The ordered changes of one backend. Each has a dense sequence number; {@code [from, to)} ranges
 * of them become durable in blocks.
 *
 * <pre>
 *   start        trim point        durable up to        sealed up to      next
 *     |---deletable--|----stored-------|-----queued----------|--active block-|
 * </pre>
 *
 * <p>{@link #awaitRoom}, {@link #append}, {@link #seal} and {@link #persist} are confined to the
 * task thread; the rest is thread-safe.
 */
public interface Changelog extends AutoCloseable {

  /** Key and value of one change together. */
  int MAX_CHANGE_BYTES = 256 << 20;

  /**
   * Waits while the bytes in flight are at their bound, and says so in a metric; returns at once
   * when closed. To be called before each change, before it is applied to anything, so that an
   * interrupted wait leaves nothing half done. It throws {@code UNAVAILABLE} then, and again for as
   * long as the thread is interrupted and there is no room.
   */
  void awaitRoom();

  /**
   * Appends one change under {@link #nextSqn()}. Allocates nothing, does no I/O and does not wait.
   * Copies what it keeps.
   *
   * @param key whole key, starting with its key group (two bytes, big endian); a prefix for {@code
   *     DELETE_RANGE}
   * @param value value of a PUT or operand of a MERGE; ignored (length 0) otherwise
   */
  void append(Operation operation, byte[] key, int keyLength, byte[] value, int valueLength);

  /** The sequence number that the next change will get. */
  long nextSqn();

  /** Ends the active block and queues it for upload; no I/O. Returns {@link #nextSqn()}. */
  long seal();

  /**
   * Seals, then asks for {@code [from, nextSqn())} to become durable.
   *
   * @param from at least the trim point
   * @return a future of the blocks that overlap the range, ascending, without holes; completed on a
   *     background thread. It fails with {@code UNAVAILABLE} after the configured attempts; the
   *     blocks stay queued and are retried for ever, so that a later call may succeed
   */
  CompletableFuture<List<BlockRef>> persist(long from);

  /** Exclusive end of the stored prefix without holes. */
  long durableUpTo();

  /** Forgets blocks that lie wholly below {@code sqn}: nothing will be asked for below it again. */
  void trim(long sqn);

  /**
   * Bytes, as appended, of the changes in {@code [sqn, nextSqn())}, rounded up to blocks; for
   * deciding when to materialize.
   */
  long bytesSince(long sqn);

  /**
   * Names of every segment that holds a block at or above the trim point or is being written now.
   */
  Set<BlobName> liveBlobs();

  /**
   * Stops; queued blocks of this changelog are dropped, segments in flight that hold others' blocks
   * are not. Waits, within reason, for attempts to store a segment that nobody needs any more, so
   * that afterwards nothing of this changelog appears in the store.
   */
  @Override
  void close();
}
