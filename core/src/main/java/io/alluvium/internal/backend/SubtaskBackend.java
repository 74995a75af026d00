package io.alluvium.internal.backend;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreReport;
import io.alluvium.StateBackendException;
import io.alluvium.StateRegistration;
import io.alluvium.internal.catalog.LiveRegistration;
import io.alluvium.internal.materialize.Bases;
import io.alluvium.internal.materialize.TableMaterializer;
import io.alluvium.internal.state.StateRegistry;
import io.alluvium.serializer.Serializer;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.Table;
import io.alluvium.state.Namespaced;
import io.alluvium.state.State;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.TimerQueue;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The keyed state of one subtask over one table and one changelog. Confined to the task thread,
 * except {@link #confirm}, {@link #abort} and {@link #liveBlobs}.
 */
final class SubtaskBackend<K> implements KeyedBackend<K> {

  /** What the backend is made of; all owned, closed with it. */
  record Parts<K>(
      KeyContext<K> keys,
      Table table,
      Changelog changelog,
      WritePath writes,
      StateRegistry<K> states,
      Bases bases,
      PendingCheckpoints pending,
      TableMaterializer materializer) {}

  /**
   * What the process knows about the backend.
   *
   * @param materializeWithin when the first materialization is due; zero or less for never by time
   * @param replaysTooLong whether a changelog of that many bytes calls for a materialization
   * @param onClose what the process does when the backend is gone
   */
  record Context(
      int maxParallelism,
      ChangelogMode mode,
      RestoreReport restore,
      CheckpointMetrics metrics,
      Duration materializeWithin,
      LongPredicate replaysTooLong,
      Runnable onClose) {}

  /** Whether changes are logged. */
  enum ChangelogMode {
    ENABLED,
    DISABLED
  }

  /*
   * A checkpoint in three steps. Sync part, on the task thread: seal, note the end, bind a base. Then, in the background,
   * the log up to the end becomes durable; nothing else is waited for. At last the handle names base and tail.
   *
   * Without a changelog, or where no base may be named (a detached restore), the table is cut on the task thread and the
   * checkpoint waits for its files.
   */
  private final Parts<K> parts;
  private final Context context;
  private volatile boolean closed;
  private volatile @Nullable LiveRegistration live;

  SubtaskBackend(Parts<K> parts, Context context) {
    this.parts = parts;
    this.context = context;
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
    return parts.keys.keyGroups();
  }

  @Override
  public int maxParallelism() {
    return context.maxParallelism;
  }

  @Override
  public void setCurrentKey(K key) {
    parts.table.advance();
    parts.keys.setCurrentKey(key);
  }

  @Override
  public K currentKey() {
    return parts.keys.currentKey();
  }

  @Override
  public int keyGroupOf(K key) {
    return parts.keys.keyGroupOf(key);
  }

  @Override
  public <S extends State> S state(StateDescriptor<S> descriptor) {
    checkOpen();
    return parts.states.state(descriptor);
  }

  @Override
  public <N, S extends State> Namespaced<N, S> state(
      StateDescriptor<S> descriptor, Serializer<N> namespace) {
    checkOpen();
    return parts.states.state(descriptor, namespace);
  }

  @Override
  public <N> TimerQueue<K, N> timers(String name, Serializer<N> namespace) {
    checkOpen();
    return parts.states.timers(name, namespace);
  }

  @Override
  public Stream<K> keys(State state) {
    checkOpen();
    return parts.states.keys(state);
  }

  @Override
  public <N> Stream<K> keys(Namespaced<N, ?> state, N namespace) {
    checkOpen();
    return parts.states.keys(state, namespace);
  }

  @Override
  public CompletableFuture<CheckpointHandle> checkpoint(long checkpointId) {
    checkOpen();
    parts.pending.checkId(checkpointId);
    long start = context.metrics.nanoTime();
    parts.table.advance();
    List<StateRegistration> states = parts.states.registrations();
    long end = parts.changelog.seal();
    Triggered triggered = trigger(checkpointId, end);
    long position = triggered.position();
    CompletableFuture<List<BlockRef>> tail = parts.changelog.persist(position);
    CompletableFuture<CheckpointHandle> done =
        tail.thenCombine(
                triggered.base(), (blocks, onto) -> handle(checkpointId, end, onto, blocks, states))
            .whenComplete((handle, failure) -> settle(checkpointId, handle, failure));
    context.metrics.synced(start);
    if (context.replaysTooLong.test(parts.changelog.bytesSince(position))) {
      parts.materializer.runSoon();
    }
    return done;
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
    CompletableFuture<Bases.Base> base = parts.materializer.materializeNow(end);
    parts.pending.trigger(checkpointId, end, base);
    return new Triggered(end, base);
  }

  /** What a checkpoint stands on, and where its changelog tail starts. */
  private record Triggered(long position, CompletableFuture<Bases.Base> base) {}

  private CheckpointHandle handle(
      long checkpointId,
      long end,
      Bases.Base base,
      List<BlockRef> blocks,
      List<StateRegistration> states) {
    return new CheckpointHandle(
        checkpointId,
        keyGroups(),
        context.maxParallelism,
        end,
        base.parts(),
        blocks,
        parts.keys.serializer().snapshot(),
        states);
  }

  private void settle(
      long checkpointId, @Nullable CheckpointHandle handle, @Nullable Throwable failure) {
    if (handle != null) {
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
    if (closed && registration != null && parts.pending.isEmpty()) {
      registration.close();
    }
  }

  /** Blobs that a manifest still to be stored may name, whichever way; any thread. */
  Set<BlobName> liveBlobs() {
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
    parts.table.advance();
  }

  @Override
  public RestoreReport restoreReport() {
    return context.restore;
  }

  @Override
  public List<StateRegistration> states() {
    return parts.states.registrations();
  }

  boolean isClosed() {
    return closed;
  }

  private void checkOpen() {
    if (closed) {
      throw StateBackendException.closed(
          "this keyed backend is closed and cannot be used any more");
    }
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    Closing closing = new Closing();
    closing.run(parts.materializer::close);
    closing.run(parts.states::close);
    closing.run(parts.writes::close);
    closing.run(parts.changelog::close);
    closing.run(parts.table::close);
    closing.run(context.onClose);
    closing.run(this::forgetIfGone);
    closing.rethrow();
  }
}
