package io.alluvium.internal.backend;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.RestoreReport;
import io.alluvium.StateBackendException;
import io.alluvium.StateRegistration;
import io.alluvium.bytes.ByteBackend;
import io.alluvium.bytes.ByteQueue;
import io.alluvium.internal.arguments.Arguments;
import io.alluvium.internal.catalog.LiveRegistration;
import io.alluvium.internal.materialize.Bases;
import io.alluvium.internal.materialize.TableMaterializer;
import io.alluvium.internal.state.StoredQueue;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableScan;
import io.alluvium.spi.TaskGuard;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The state of one subtask over one table and one changelog, as bytes. Confined to the task thread,
 * except {@link #confirm}, {@link #abort}, {@link #liveBlobs} and {@link #close}.
 */
final class ByteSubtask implements ByteBackend {

  /** What it is made of; all owned, closed with it. */
  record Parts(
      Table table,
      Changelog changelog,
      WritePath writes,
      Bases bases,
      PendingCheckpoints pending,
      TableMaterializer materializer) {}

  /**
   * What the process knows about it.
   *
   * @param materializeWithin when the first materialization is due; zero or less for never by time
   * @param replaysTooLong whether a changelog of that many bytes calls for a materialization
   * @param onClose what the process does when the backend is gone
   */
  record Context(
      KeyGroupRange keyGroups,
      int maxParallelism,
      ChangelogMode mode,
      RestoreReport restore,
      Execution execution,
      CheckpointMetrics metrics,
      Duration materializeWithin,
      LongPredicate replaysTooLong,
      Runnable onClose) {}

  /** Whether changes are logged. */
  enum ChangelogMode {
    ENABLED,
    DISABLED
  }

  /** What a handle says about states; whoever uses bytes stores that himself. */
  record Formats(SerializerSnapshot key, List<StateRegistration> states) {
    static final Formats NONE =
        new Formats(new SerializerSnapshot("bytes", 1, new byte[0]), List.of());
  }

  /*
   * A checkpoint in three steps. Sync part, on the task thread: note the end, bind a base, seal. Then, in the background,
   * the log up to the end becomes durable; nothing else is waited for. At last the handle names base and tail.
   *
   * Sealing comes last, because it wakes the threads of the upload: a thread that wakes on a busy machine takes over the
   * processor of the one that woke it, and the sync part would wait for it.
   *
   * Without a changelog, or where no base may be named (a detached restore), the task thread takes a snapshot of the table
   * and the checkpoint waits for its files.
   */
  private final Parts parts;
  private final Context context;

  /** Sync parts of checkpoints. Reads and writes are guarded below, where that costs less. */
  private final TaskGuard syncParts = new TaskGuard("this keyed backend");

  private final CompletableFuture<Void> released = new CompletableFuture<>();

  /** Who closes it; set once. */
  private final AtomicReference<@Nullable Thread> closer = new AtomicReference<>();

  private volatile @Nullable LiveRegistration live;
  private final Runnable uncounted;

  ByteSubtask(Parts parts, Context context) {
    this.parts = parts;
    this.context = context;
    this.uncounted =
        context.metrics.countUnmaterialized(
            () -> parts.changelog.bytesSince(parts.bases.durableUpTo()));
  }

  /**
   * Starts what runs beside the task.
   *
   * @param catalog keeps what is live from being collected
   */
  void start(Function<Supplier<Set<BlobName>>, LiveRegistration> catalog) {
    live = catalog.apply(this::liveBlobs);
    if (context.mode == ChangelogMode.ENABLED) {
      parts.materializer.start(context.materializeWithin);
    }
  }

  @Override
  public KeyGroupRange keyGroups() {
    return context.keyGroups;
  }

  int maxParallelism() {
    return context.maxParallelism;
  }

  @Override
  public boolean get(byte[] key, int keyLength, ByteWriter into) {
    Arguments.check(key, "key");
    Arguments.check(into, "into");
    return parts.writes.get(key, keyLength, into);
  }

  @Override
  public void put(byte[] key, int keyLength, byte[] value, int valueLength) {
    Arguments.check(key, "key");
    Arguments.check(value, "value");
    parts.writes.put(key, keyLength, value, valueLength);
  }

  @Override
  public void delete(byte[] key, int keyLength) {
    Arguments.check(key, "key");
    parts.writes.delete(key, keyLength);
  }

  @Override
  public void deleteRange(byte[] prefix, int prefixLength) {
    Arguments.check(prefix, "prefix");
    parts.writes.deleteRange(prefix, prefixLength);
  }

  @Override
  public void merge(byte[] key, int keyLength, byte[] operand, int operandLength) {
    Arguments.check(key, "key");
    Arguments.check(operand, "operand");
    parts.writes.merge(key, keyLength, operand, operandLength);
  }

  @Override
  public void load(byte[] key, int keyLength, byte[] value, int valueLength) {
    Arguments.check(key, "key");
    Arguments.check(value, "value");
    parts.writes.load(key, keyLength, value, valueLength);
  }

  @Override
  public TableScan scan(byte[] prefix, int prefixLength) {
    Arguments.check(prefix, "prefix");
    return parts.writes.scan(prefix, prefixLength);
  }

  @Override
  public TableScan scanFrom(byte[] prefix, int prefixLength, byte[] from, int fromLength) {
    Arguments.check(prefix, "prefix");
    Arguments.check(from, "from");
    return parts.writes.scanFrom(prefix, prefixLength, from, fromLength);
  }

  @Override
  public ByteQueue queue(int stateId, KeyGroupRange keyGroups, ByteQueue.Start start) {
    Arguments.check(keyGroups, "keyGroups");
    Arguments.check(start, "start");
    checkOpen();
    return new StoredQueue(parts.writes, keyGroups, stateId, start);
  }

  @Override
  public long nextSqn() {
    return parts.writes.nextSqn();
  }

  @Override
  public CompletableFuture<CheckpointHandle> checkpoint(long checkpointId) {
    return checkpoint(checkpointId, Formats.NONE);
  }

  CompletableFuture<CheckpointHandle> checkpoint(long checkpointId, Formats formats) {
    return checkpoint(checkpointId, formats, end -> trigger(checkpointId, end));
  }

  @Override
  public CompletableFuture<CheckpointHandle> checkpointAnew(long checkpointId) {
    return checkpoint(
        checkpointId,
        Formats.NONE,
        end -> triggered(checkpointId, end, parts.materializer.materializeAnew(end)));
  }

  private CompletableFuture<CheckpointHandle> checkpoint(
      long checkpointId, Formats formats, LongFunction<Triggered> trigger) {
    return inside(
        () -> {
          parts.pending.checkId(checkpointId);
          return context.execution.first(() -> synchronously(checkpointId, formats, trigger));
        });
  }

  /** Closing waits for it. */
  private <T> T inside(Supplier<T> syncPart) {
    if (!syncParts.tryEnter()) {
      throw closed();
    }
    try {
      return syncPart.get();
    } finally {
      syncParts.exit();
    }
  }

  private CompletableFuture<CheckpointHandle> synchronously(
      long checkpointId, Formats formats, LongFunction<Triggered> trigger) {
    StateBackendException torn = parts.writes.torn();
    if (torn != null) {
      return CompletableFuture.failedFuture(torn);
    }
    long start = context.metrics.nanoTime();
    parts.table.advance();
    long end = parts.changelog.nextSqn();
    Triggered triggered = trigger.apply(end);
    long position = triggered.position();
    long tailBytes = parts.changelog.bytesSince(position);
    context.metrics.tail(tailBytes);
    parts.materializer.catchUp();
    if (context.replaysTooLong.test(tailBytes)) {
      parts.materializer.runSoon();
    }
    CompletableFuture<List<BlockRef>> tail = persist(checkpointId, position);
    long last = parts.changelog.nextSqn();
    if (last != end) {
      abort(checkpointId);
      StateBackendException tornNow = tornSyncPart(end, last);
      parts.writes.torn(tornNow);
      return CompletableFuture.failedFuture(tornNow);
    }
    CompletableFuture<CheckpointHandle> done =
        tail.thenCombine(
                triggered.base(),
                (blocks, onto) -> handle(checkpointId, end, onto, blocks, formats))
            .whenComplete((handle, failure) -> settle(checkpointId, start, handle, failure));
    context.metrics.synced(start);
    return done;
  }

  /** Not one moment, and the log may be torn, too; the next checkpoint would only look sound. */
  private StateBackendException tornSyncPart(long end, long last) {
    return StateBackendException.invalid(
        "checkpoints of the backend of key groups "
            + context.keyGroups
            + " are impossible from now on, because changes up to "
            + last
            + " were written while one was taken at "
            + end
            + ": two threads used the backend at the same time, for example a timer that called"
            + " checkpoint; older checkpoints are not affected: start the job again, and send"
            + " checkpoints to the task thread through its queue");
  }

  /** What is refused here, because it is closed meanwhile, is pending no longer. */
  private CompletableFuture<List<BlockRef>> persist(long checkpointId, long position) {
    try {
      return parts.changelog.persist(position);
    } catch (StateBackendException e) {
      abort(checkpointId);
      throw e;
    }
  }

  /** Binds a base, or begins to make one. */
  private Triggered trigger(long checkpointId, long end) {
    if (context.mode == ChangelogMode.ENABLED) {
      Optional<Bases.Base> bound = parts.pending.triggerOnNewestBase(checkpointId, end);
      if (bound.isPresent()) {
        return new Triggered(
            bound.get().position(), CompletableFuture.completedFuture(bound.get()));
      }
    }
    return triggered(checkpointId, end, parts.materializer.materializeNow(end));
  }

  private Triggered triggered(long checkpointId, long end, CompletableFuture<Bases.Base> base) {
    parts.pending.trigger(checkpointId, end, base);
    return new Triggered(end, base);
  }

  /** What a checkpoint stands on, and where its changelog tail starts. */
  private record Triggered(long position, CompletableFuture<Bases.Base> base) {}

  @Override
  public CompletableFuture<CheckpointHandle> copy(long checkpointId, BlobStore into) {
    Arguments.check(into, "into");
    return inside(
        () -> {
          StateBackendException torn = parts.writes.torn();
          if (torn != null) {
            return CompletableFuture.failedFuture(torn);
          }
          parts.table.advance();
          long end = parts.changelog.nextSqn();
          return parts
              .materializer
              .copy(end, into)
              .thenApply(base -> handle(checkpointId, end, base, List.of(), Formats.NONE));
        });
  }

  private CheckpointHandle handle(
      long checkpointId, long end, Bases.Base base, List<BlockRef> blocks, Formats formats) {
    checkTail(base.position(), end, blocks);
    return new CheckpointHandle(
        checkpointId,
        context.keyGroups,
        context.maxParallelism,
        end,
        base.parts(),
        blocks,
        formats.key(),
        formats.states());
  }

  /** A checkpoint that a restore would refuse must fail while there are better ones. */
  static void checkTail(long position, long end, List<BlockRef> tail) {
    long from = tail.isEmpty() ? end : tail.get(0).fromSqn();
    if (from > position) {
      throw StateBackendException.internal(
          "a checkpoint needs the changes ["
              + position
              + ", "
              + end
              + "), but the changelog gave them from "
              + from
              + " on only");
    }
  }

  private void settle(
      long checkpointId,
      long startNanos,
      @Nullable CheckpointHandle handle,
      @Nullable Throwable failure) {
    if (handle != null) {
      context.metrics.durable(startNanos);
      parts.pending.durable(handle);
    }
    if (failure != null) {
      abort(checkpointId);
    }
  }

  @Override
  public void confirm(long checkpointId) {
    parts.pending.confirm(checkpointId);
    forgetIfGone();
  }

  @Override
  public void abort(long checkpointId) {
    parts.pending.abort(checkpointId);
    forgetIfGone();
  }

  /**
   * Nothing is live any more once it is closed and no verdict on a checkpoint of its is awaited.
   */
  private void forgetIfGone() {
    LiveRegistration registration = live;
    if (isClosed() && registration != null && parts.pending.isEmpty()) {
      registration.close();
    }
  }

  @Override
  public Set<BlobName> liveBlobs() {
    // In the order in which a blob moves on: whoever hands it over adds it to the next before
    // leaving the one before.
    Set<BlobName> live = new HashSet<>(parts.changelog.liveBlobs());
    live.addAll(parts.materializer.liveBlobs());
    live.addAll(parts.bases.liveBlobs());
    live.addAll(parts.pending.liveBlobs());
    return live;
  }

  @Override
  public void idle() {
    checkOpen();
    advance();
  }

  /** As {@link #idle()}, for what is called with every record. */
  void advance() {
    parts.table.advance();
  }

  @Override
  public RestoreReport restoreReport() {
    return context.restore;
  }

  boolean isClosed() {
    return closer.get() != null;
  }

  void checkOpen() {
    if (isClosed()) {
      throw closed();
    }
  }

  private StateBackendException closed() {
    return StateBackendException.closed(
        "the keyed backend of key groups "
            + context.keyGroups
            + " is closed and cannot be used any more");
  }

  @Override
  public void close() {
    Thread current = Thread.currentThread();
    if (!closer.compareAndSet(null, current)) {
      // What closes next stands below this; but who is told of the close meanwhile may close, too.
      if (closer.get() != current) {
        context.execution.await(released);
      }
      return;
    }
    try {
      release();
    } finally {
      released.complete(null);
    }
  }

  private void release() {
    uncounted.run();
    Closing closing = new Closing();
    CompletableFuture<Void> lastSyncPart = syncParts.close();
    closing.run(parts.writes::close);
    closing.run(parts.materializer::close);
    closing.run(parts.changelog::close);
    closing.run(parts.table::close);
    closing.run(() -> context.execution.await(lastSyncPart));
    closing.run(context.onClose);
    closing.run(this::forgetIfGone);
    closing.rethrow();
  }
}
