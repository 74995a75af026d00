package io.alluvium.dstl;

import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The sealed blocks of one changelog: which are stored, up to where without a hole, who waits for
 * which. Guarded by the lock of the {@link Uploader}; what must happen outside of it (completing
 * futures) is added to a list of actions.
 */
final class BlockLedger {

  /*
   *   blocks:  | stored | stored | uploading | stored | queued | encoding |
   *            ^ trim point      ^ durable   ^ a hole is not jumped over (L3a)  ^ sealed
   *
   * A waiter has its own position, from the start of its range to the first block in it that is not stored: a hole
   * below the range does not concern it.
   */

  /** Somebody who wants {@code [from, to)} stored. */
  private static final class Waiter {
    private final long from;
    private final long to;
    private final CompletableFuture<List<BlockRef>> future = new CompletableFuture<>();
    private final Map<SegmentUpload, Integer> failures = new HashMap<>();
    private long storedUpTo;

    private Waiter(long from, long to) {
      this.from = from;
      this.to = to;
      this.storedUpTo = from;
    }
  }

  private final long id;
  private final KeyGroupRange keyGroups;
  private final List<Block> blocks = new ArrayList<>();
  private final List<Waiter> waiters = new ArrayList<>();

  /** Segments in flight that hold blocks of this changelog. */
  private final Set<SegmentUpload> uploads = new HashSet<>();

  private int storedBlocks;
  private long durableUpTo;
  private long sealedBytes;
  private long trimPoint;
  private long lastTicket;
  private long sealedUpTo;
  private @Nullable StateBackendException torn;
  private boolean closed;

  BlockLedger(long id, KeyGroupRange keyGroups, long startSqn) {
    this.id = id;
    this.keyGroups = keyGroups;
    this.durableUpTo = startSqn;
    this.sealedUpTo = startSqn;
    this.trimPoint = startSqn;
  }

  /** What a user knows it by, for messages. */
  String backend() {
    return "the keyed backend of key groups " + keyGroups;
  }

  long id() {
    return id;
  }

  KeyGroupRange keyGroups() {
    return keyGroups;
  }

  boolean isClosed() {
    return closed;
  }

  long durableUpTo() {
    return durableUpTo;
  }

  long sealedBytes() {
    return sealedBytes;
  }

  long trimPoint() {
    return trimPoint;
  }

  /** The ticket of the last block that was added; 0 when there was none. */
  long lastTicket() {
    return lastTicket;
  }

  /** Takes over a sealed block; {@link TornLogException} when it is not what comes next. */
  void add(Block block) {
    if (block.fromSqn != sealedUpTo
        || block.toSqn <= block.fromSqn
        || block.bytesBefore != sealedBytes) {
      throw new TornLogException(
          "a block of changes ["
              + block.fromSqn
              + ", "
              + block.toSqn
              + ") follows those up to "
              + sealedUpTo);
    }
    blocks.add(block);
    sealedUpTo = block.toSqn;
    sealedBytes += block.rawLength;
  }

  /** All that was appended below {@code sqn} is sealed, or {@link TornLogException}. */
  void checkSealed(long sqn) {
    if (sqn != sealedUpTo) {
      throw new TornLogException("changes up to " + sqn + " were to be sealed, not " + sealedUpTo);
    }
  }

  /** Why nothing of it can ever be stored again; null while all is well. */
  @Nullable StateBackendException torn() {
    return torn;
  }

  /** Changes got lost or mixed up, which no repetition mends: all that is asked for fails. */
  void tear(TornLogException found, List<Runnable> after) {
    if (torn == null) {
      torn =
          StateBackendException.of(
              StateBackendException.Kind.INVALID,
              "the log of the backend of key groups "
                  + keyGroups
                  + " is torn: "
                  + found.getMessage()
                  + "; two threads used the backend at the same time, for example a timer that called"
                  + " checkpoint; older checkpoints are not affected, but this backend can take none"
                  + " any more: start the job again, and send checkpoints to the task thread through"
                  + " its queue",
              found);
      failWaiters(Long.MIN_VALUE, Long.MAX_VALUE, torn, after);
    }
  }

  void queued(Block block) {
    lastTicket = Math.max(lastTicket, block.ticket);
  }

  void uploading(SegmentUpload upload) {
    uploads.add(upload);
  }

  /** Segments in flight that hold blocks of this changelog. */
  List<SegmentUpload> uploads() {
    return List.copyOf(uploads);
  }

  /** No attempt of a segment runs any more, and none will. */
  void settled(SegmentUpload upload) {
    uploads.remove(upload);
  }

  /** Waits for {@code [from, to)}, which is sealed. */
  CompletableFuture<List<BlockRef>> persist(long from, long to) {
    Waiter waiter = new Waiter(from, to);
    if (durableUpTo > from) {
      waiter.storedUpTo = durableUpTo;
    }
    if (advance(waiter)) {
      waiter.future.complete(refs(from, to));
    } else {
      waiters.add(waiter);
    }
    return waiter.future;
  }

  /** Whether the whole range of a waiter is stored. */
  private boolean advance(Waiter waiter) {
    int index = indexOf(waiter.storedUpTo);
    while (waiter.storedUpTo < waiter.to
        && index < blocks.size()
        && blocks.get(index).state == Block.State.STORED) {
      waiter.storedUpTo = blocks.get(index).toSqn;
      index++;
    }
    return waiter.storedUpTo >= waiter.to;
  }

  /** Index of the block that holds {@code sqn}, or of the first one above it. */
  private int indexOf(long sqn) {
    int low = 0;
    int high = blocks.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (blocks.get(middle).toSqn <= sqn) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private List<BlockRef> refs(long from, long to) {
    List<BlockRef> refs = new ArrayList<>();
    for (int i = indexOf(from); i < blocks.size() && blocks.get(i).fromSqn < to; i++) {
      BlockRef ref = blocks.get(i).ref;
      if (ref == null) {
        throw StateBackendException.internal("block " + i + " of changelog " + id + " is a hole");
      }
      refs.add(ref);
    }
    return List.copyOf(refs);
  }

  void stored(Block block, BlockRef ref) {
    block.state = Block.State.STORED;
    block.ref = ref;
    while (storedBlocks < blocks.size() && blocks.get(storedBlocks).state == Block.State.STORED) {
      durableUpTo = blocks.get(storedBlocks).toSqn;
      storedBlocks++;
    }
  }

  /** Tells those whose range is stored now. */
  void tellWaiters(List<Runnable> after) {
    for (Iterator<Waiter> it = waiters.iterator(); it.hasNext(); ) {
      Waiter waiter = it.next();
      if (advance(waiter)) {
        it.remove();
        List<BlockRef> refs = refs(waiter.from, waiter.to);
        after.add(() -> waiter.future.complete(refs));
      }
    }
  }

  /** Tells those who have seen a segment fail {@code attempts} times while they waited for it. */
  void failed(
      SegmentUpload upload, int attempts, StateBackendException failure, List<Runnable> after) {
    for (Iterator<Waiter> it = waiters.iterator(); it.hasNext(); ) {
      Waiter waiter = it.next();
      if (upload.holds(this, waiter.from, waiter.to)
          && waiter.failures.merge(upload, 1, Integer::sum) >= attempts) {
        it.remove();
        after.add(() -> waiter.future.completeExceptionally(failure));
      }
    }
  }

  /** Tells those who wait for a block that could not be encoded. */
  void failed(Block block, StateBackendException failure, List<Runnable> after) {
    failWaiters(block.fromSqn, block.toSqn, failure, after);
  }

  private void failWaiters(
      long from, long to, StateBackendException failure, List<Runnable> after) {
    for (Iterator<Waiter> it = waiters.iterator(); it.hasNext(); ) {
      Waiter waiter = it.next();
      if (waiter.from < to && waiter.to > from) {
        it.remove();
        after.add(() -> waiter.future.completeExceptionally(failure));
      }
    }
  }

  /**
   * Forgets blocks wholly below {@code sqn}.
   *
   * @return what was forgotten; those that were not stored yet are for the caller to drop
   */
  List<Block> trim(long sqn, List<Runnable> after) {
    if (sqn <= trimPoint) {
      return List.of();
    }
    trimPoint = sqn;
    int count = 0;
    while (count < blocks.size() && blocks.get(count).toSqn <= sqn) {
      count++;
    }
    if (count == 0) {
      return List.of();
    }
    List<Block> head = blocks.subList(0, count);
    List<Block> forgotten = List.copyOf(head);
    head.clear();
    storedBlocks = Math.max(0, storedBlocks - count);
    long end = forgotten.get(count - 1).toSqn;
    durableUpTo = Math.max(durableUpTo, end);
    while (storedBlocks < blocks.size() && blocks.get(storedBlocks).state == Block.State.STORED) {
      durableUpTo = blocks.get(storedBlocks).toSqn;
      storedBlocks++;
    }
    failWaiters(
        Long.MIN_VALUE,
        end,
        StateBackendException.invalid(
            "changelog " + id + " was trimmed to " + sqn + " while older changes were waited for"),
        after);
    return forgotten;
  }

  /** Bytes as appended of the sealed changes from {@code sqn} on, rounded up to blocks. */
  long bytesSince(long sqn) {
    int index = indexOf(sqn);
    return index == blocks.size() ? 0 : sealedBytes - blocks.get(index).bytesBefore;
  }

  /** Names of segments, some of them several times; gathered fast, because the task waits. */
  List<BlobName> liveBlobs() {
    List<BlobName> names = new ArrayList<>(blocks.size() + uploads.size());
    for (Block block : blocks) {
      BlobName name = block.blob();
      if (name != null) {
        names.add(name);
      }
    }
    for (SegmentUpload upload : uploads) {
      BlobName name = upload.name();
      if (name != null) {
        names.add(name);
      }
    }
    return names;
  }

  /** Returns the blocks that were not stored yet, for the caller to drop. */
  List<Block> close(StateBackendException reason, List<Runnable> after) {
    closed = true;
    failWaiters(Long.MIN_VALUE, Long.MAX_VALUE, reason, after);
    List<Block> unsent = new ArrayList<>();
    for (Block block : blocks) {
      if (block.state != Block.State.STORED) {
        unsent.add(block);
      }
    }
    blocks.clear();
    return unsent;
  }
}
