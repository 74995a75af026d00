package io.alluvium.dstl;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.Operation;
import io.alluvium.spi.TaskGuard;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The changelog of one backend: the active block, which it fills, and what has become of the sealed
 * ones. {@link #append}, {@link #seal} and {@link #persist} are confined to the task thread; the
 * rest is thread-safe.
 */
final class DstlChangelog implements Changelog {

  /*
   * The active block is a pooled array that only the task thread touches. `limit` is where it must not be written any
   * more; 0 means that there is none. A close() on another thread may come while the task is writing into the array: so
   * it never returns the array to the pool, it only forgets it, and the task notices when it needs the next one.
   *
   * `position` and `next` are written with opaque stores, which cost nothing here: other threads read them for
   * nextSqn() and bytesSince(), as values that may be a little old.
   */
  private static final VarHandle NEXT;
  private static final VarHandle POSITION;
  private static final byte[] NOTHING = new byte[0];

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      NEXT = lookup.findVarHandle(DstlChangelog.class, "next", long.class);
      POSITION = lookup.findVarHandle(DstlChangelog.class, "position", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** A sealed block below this is copied and the array kept: a checkpoint with little to store. */
  private static final int COPIED_BYTES = 32 << 10;

  private final Uploader uploader;
  private final BlockLedger ledger;
  private final Consumer<DstlChangelog> whenClosed;
  private final int firstKeyGroup;
  private final int keyGroups;

  /** Who takes the active buffer out of here, to seal or to forget it, owns it. */
  private final AtomicReference<BufferPool.@Nullable Buffer> active = new AtomicReference<>();

  private byte[] array = NOTHING;
  private int limit;
  private int position;
  private long next;
  private long blockStart;
  private long bytesBefore;
  private volatile boolean closed;

  /** Whether the bytes in flight were at their bound when the last block was filled. */
  private boolean lacksRoom;

  /** What the task hands to the uploader; nothing is handed over after closing. */
  private final TaskGuard handOffs;

  /**
   * @param ledger its own, empty
   * @param whenClosed told once
   */
  DstlChangelog(
      Uploader uploader, BlockLedger ledger, long startSqn, Consumer<DstlChangelog> whenClosed) {
    this.uploader = uploader;
    this.ledger = ledger;
    this.whenClosed = whenClosed;
    this.firstKeyGroup = ledger.keyGroups().from();
    this.keyGroups = ledger.keyGroups().size();
    this.next = startSqn;
    this.blockStart = startSqn;
    this.handOffs = new TaskGuard(ledger.backend());
    uploader.open(ledger);
  }

  @Override
  public void awaitRoom() {
    if (lacksRoom) {
      // Closing ends this wait, and does not wait for it.
      uploader.awaitRoom(ledger);
      lacksRoom = false;
    }
  }

  @Override
  public void append(
      Operation operation, byte[] key, int keyLength, byte[] value, int valueLength) {
    int operand = operation == Operation.PUT || operation == Operation.MERGE ? valueLength : 0;
    if (keyLength < KeyLayout.KEY_GROUP_BYTES
        || operand < 0
        || Integer.compareUnsigned(KeyLayout.keyGroup(key, 0) - firstKeyGroup, keyGroups) >= 0) {
      throw impossible(key, keyLength, valueLength);
    }
    int at = position;
    if ((long) at + RawChanges.HEADER_LENGTH + keyLength + operand > limit) {
      appendToNextBlock(operation, key, keyLength, value, operand);
      return;
    }
    POSITION.setOpaque(
        this, RawChanges.write(array, at, operation, key, keyLength, value, operand));
    NEXT.setOpaque(this, next + 1);
  }

  private StateBackendException impossible(byte[] key, int keyLength, int valueLength) {
    if (keyLength < KeyLayout.KEY_GROUP_BYTES || valueLength < 0) {
      return StateBackendException.invalid(
          "a change with a key of "
              + keyLength
              + " and a value of "
              + valueLength
              + " bytes; a key has at least "
              + KeyLayout.KEY_GROUP_BYTES
              + " bytes, a value at least 0");
    }
    return StateBackendException.invalid(
        "a change of key group "
            + KeyLayout.keyGroup(key, 0)
            + " outside the changelog's "
            + ledger.keyGroups());
  }

  private void appendToNextBlock(
      Operation operation, byte[] key, int keyLength, byte[] value, int valueLength) {
    if ((long) keyLength + valueLength > BlockFormat.MAX_CHANGE_BYTES) {
      throw StateBackendException.invalid(
          "a change of "
              + ((long) keyLength + valueLength)
              + " bytes; key and value must not exceed "
              + BlockFormat.MAX_CHANGE_BYTES
              + " bytes together");
    }
    handOffs.enter();
    try {
      Block full = endBlock();
      if (full != null) {
        uploader.seal(full);
      }
      int length = RawChanges.HEADER_LENGTH + keyLength + valueLength;
      if (length > limit) {
        startBlock(length);
      }
      POSITION.setOpaque(
          this, RawChanges.write(array, 0, operation, key, keyLength, value, valueLength));
      NEXT.setOpaque(this, next + 1);
    } finally {
      handOffs.exit();
    }
    lacksRoom = uploader.lacksRoom();
  }

  /** A change that is longer than a block gets a block of its own. */
  private void startBlock(int firstChangeBytes) {
    boolean oversize = firstChangeBytes > BufferPool.BLOCK_BYTES;
    BufferPool.Buffer buffer =
        oversize ? uploader.pool().take(firstChangeBytes) : uploader.pool().takeActive();
    BufferPool.Buffer unused = active.getAndSet(buffer);
    if (unused != null) {
      uploader.pool().release(unused);
    }
    array = buffer.array();
    limit = oversize ? firstChangeBytes : BufferPool.BLOCK_BYTES;
    if (closed) {
      forgetActive();
    }
  }

  @Override
  public long nextSqn() {
    return (long) NEXT.getOpaque(this);
  }

  @Override
  public long seal() {
    handOffs.enter();
    try {
      Block block = endBlock();
      if (block != null) {
        uploader.seal(block);
      }
      return next;
    } finally {
      handOffs.exit();
    }
  }

  @Override
  public CompletableFuture<List<BlockRef>> persist(long from) {
    handOffs.enter();
    try {
      if (from > next) {
        throw StateBackendException.invalid(
            "changes from " + from + " on were asked for, the next will be " + next);
      }
      return uploader.persist(ledger, endBlock(), from, next);
    } finally {
      handOffs.exit();
    }
  }

  /** The active block, ended; null when it is empty. */
  private @Nullable Block endBlock() {
    int length = position;
    if (length == 0) {
      return null;
    }
    BufferPool.Buffer sealed;
    if (length <= COPIED_BYTES) {
      sealed = uploader.pool().take(length);
      System.arraycopy(array, 0, sealed.array(), 0, length);
    } else {
      sealed = active.getAndSet(null);
      if (sealed == null) {
        checkOpen();
        throw uploader.tear(ledger, new TornLogException("a block that is sealed has no buffer"));
      }
      array = NOTHING;
      limit = 0;
    }
    POSITION.setOpaque(this, 0);
    Block block = new Block(ledger, blockStart, next, bytesBefore, sealed, length);
    blockStart = next;
    bytesBefore += length;
    return block;
  }

  private void checkOpen() {
    if (closed) {
      throw StateBackendException.closed(ledger.backend() + " is closed");
    }
  }

  @Override
  public long durableUpTo() {
    return uploader.durableUpTo(ledger);
  }

  @Override
  public void trim(long sqn) {
    uploader.trim(ledger, Math.min(sqn, nextSqn()));
  }

  @Override
  public long bytesSince(long sqn) {
    int unsealed = sqn < nextSqn() ? (int) POSITION.getOpaque(this) : 0;
    synchronized (uploader.lock()) {
      return ledger.bytesSince(sqn) + unsealed;
    }
  }

  @Override
  public Set<BlobName> liveBlobs() {
    List<BlobName> names;
    synchronized (uploader.lock()) {
      names = ledger.liveBlobs();
    }
    return new HashSet<>(names);
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    CompletableFuture<Void> lastHandOff = handOffs.close();
    List<SegmentUpload> unanswered = uploader.close(ledger);
    limit = 0;
    forgetActive();
    whenClosed.accept(this);
    uploader.execution().await(lastHandOff);
    SegmentUpload.awaitAnswers(unanswered, uploader.execution());
  }

  private void forgetActive() {
    BufferPool.Buffer buffer = active.getAndSet(null);
    if (buffer != null) {
      uploader.pool().forget(buffer);
    }
  }
}
