package io.alluvium.internal.materialize;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.files.LocalFiles;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Pace;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableSnapshot;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Materializes the table of one backend from time to time, at randomized moments, without stopping
 * its task (P3, P6). Thread-safe; guarded by {@code this}, never held across I/O.
 */
public final class TableMaterializer implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(TableMaterializer.class);

  /** Between the end of a run that took long and the next: this part of the interval at least. */
  private static final int LEAST_PAUSE_DIVISOR = 10;

  private static final Duration FIRST_BACKOFF = Duration.ofSeconds(1);

  /**
   * When to materialize.
   *
   * @param interval mean distance of two runs; zero = never by itself
   * @param failuresAllowed consecutive failures before the alarm
   */
  public record Policy(Duration interval, int failuresAllowed) {
    boolean isPeriodic() {
      return !interval.isZero() && !interval.isNegative();
    }
  }

  /**
   * The backend that is materialized.
   *
   * @param materializedUpTo position of what it was restored from, if nothing had to be replayed
   *     onto that; else -1, so that the first run finds something to do
   * @param share its part of the uploads of the process
   * @param onDurable runs after each durable materialization, on its thread
   */
  public record Target(
      String name,
      Table table,
      Path directory,
      LongSupplier appliedUpTo,
      long materializedUpTo,
      Bases bases,
      TableUploader uploader,
      UploadPacer.Share share,
      Runnable onDurable) {}

  /*
   * The phases of a run: snapshot (the materializer's thread, or slices on the task thread for a heap table), store
   * (the materializer's thread), durable. At most one run of a backend at a time; how many of a process run at once is
   * the size of `Execution.materializations`. A failure never reaches the job: the changelog keeps its changes.
   *
   * What a periodic run stores is spread over most of the interval (`UploadPacer`); what somebody waits for is not.
   *
   * Snapshots of the task thread come beside these runs. One snapshot of a backend is stored at a time, in order,
   * so that what the uploader knows to be stored always belongs to the newest base.
   */
  private final Target target;
  private final Policy policy;
  private final Execution execution;
  private final RandomGenerator random;
  private final MaterializationMetrics metrics;
  private Execution.@Nullable Scheduled next;

  /** Whether no timer could be had for the next run, so that a checkpoint has to ask for it. */
  private volatile boolean untimed;

  private long untimedDueNanos;
  private boolean running;
  private long dueNanos;
  private boolean closed;
  private int consecutiveFailures;

  /** When a run may be asked for again after a failed one. */
  private long retryNanos;

  private long runs;
  private long lastPosition;

  /** The end of what is stored, or queued to be, so far; completes in any case. */
  private CompletableFuture<?> lastStored = CompletableFuture.completedFuture(null);

  /** The end of the last store that has begun. */
  private CompletableFuture<?> lastBegun = CompletableFuture.completedFuture(null);

  /** Stores that somebody waits for and that have not begun. */
  private final List<CompletableFuture<Bases.Base>> queued = new ArrayList<>();

  public TableMaterializer(
      Target target,
      Policy policy,
      Execution execution,
      RandomGenerator random,
      MaterializationMetrics metrics) {
    this.target = target;
    this.policy = policy;
    this.execution = execution;
    this.random = random;
    this.metrics = metrics;
    this.lastPosition = target.materializedUpTo();
  }

  /**
   * Starts the periodic runs.
   *
   * @param firstWithin the first one comes after a random part of this, so that backends spread
   *     out; zero or less for none by time
   */
  public synchronized void start(Duration firstWithin) {
    if (!firstWithin.isZero() && !firstWithin.isNegative()) {
      scheduleIn(Duration.ofNanos(1 + (long) (random.nextDouble() * firstWithin.toNanos())));
    }
  }

  private void scheduleIn(Duration delay) {
    if (closed) {
      return;
    }
    if (next != null) {
      next.cancel();
    }
    untimed = false;
    next = Execution.handOff(execution, delay, this::runOnTime, refusal -> untimed(delay, refusal));
  }

  private void runOnTime() {
    boolean unused = runSoon(target.share()::due);
  }

  private void untimed(Duration delay, StateBackendException refusal) {
    if (isClosed(refusal)) {
      return;
    }
    untimedDueNanos = execution.nanoTime() + delay.toNanos();
    untimed = true;
    LOG.warn(
        "{}: the first checkpoint after {} s begins the next materialization: {}",
        target.name(),
        delay.toSeconds(),
        refusal.getMessage());
  }

  /** Begins the run that is due and has no timer, if there is one; called with each checkpoint. */
  public void catchUp() {
    if (untimed && takeUntimed()) {
      runOnTime();
    }
  }

  private synchronized boolean takeUntimed() {
    boolean due = untimed && execution.nanoTime() - untimedDueNanos >= 0;
    if (due) {
      untimed = false;
    }
    return due;
  }

  /**
   * Asks for a run now, or for the end of the one that is running; any thread. After a failed run
   * it is the pause that decides: who asks, asks with every checkpoint.
   */
  public void runSoon() {
    if (backsOff()) {
      return;
    }
    if (!runSoon(target.share()::dueSoon)) {
      target.share().hurry();
    }
  }

  private synchronized boolean backsOff() {
    return consecutiveFailures > 0 && execution.nanoTime() - retryNanos < 0;
  }

  /** Returns false when one is running. */
  private boolean runSoon(Runnable due) {
    synchronized (this) {
      if (running || closed) {
        return false;
      }
      running = true;
      dueNanos = execution.nanoTime();
    }
    due.run();
    // Refused: what asked for the run, a checkpoint perhaps, goes on.
    Execution.handOff(execution.materializations(), this::run, this::failed);
    return true;
  }

  private void run() {
    try {
      begin();
    } catch (RuntimeException | Error e) {
      failed(e);
    }
  }

  private void begin() {
    long position = target.appliedUpTo().getAsLong();
    Path directory;
    synchronized (this) {
      if (closed || position == lastPosition) {
        // Nothing was written since the last one.
        finished(untilNext());
        return;
      }
      directory = target.directory().resolve("snapshot-" + ++runs);
    }
    Bases.Attempt attempt = target.bases().begin(position);
    try {
      // The snapshot follows the read of the position, never the other way round (P2).
      CompletableFuture<?> unused =
          target
              .table()
              .snapshot(directory)
              .whenComplete((snapshot, failure) -> returned(attempt, directory, snapshot, failure));
    } catch (RuntimeException | Error e) {
      failed(attempt, directory, e);
    }
  }

  private void returned(
      Bases.Attempt attempt,
      Path directory,
      @Nullable TableSnapshot snapshot,
      @Nullable Throwable failure) {
    if (snapshot == null) {
      failed(attempt, directory, Objects.requireNonNull(failure));
    } else {
      target.bases().returned(attempt);
      CompletableFuture<?> unused =
          inOrder(() -> store(attempt, snapshot))
              .whenComplete(
                  (stored, refused) -> {
                    if (refused != null) {
                      failed(attempt, snapshot.directory(), refused);
                    }
                  });
    }
  }

  private synchronized <T> CompletableFuture<T> inOrder(Supplier<T> work) {
    CompletableFuture<T> stored =
        lastStored.handleAsync((before, failure) -> work.get(), execution.materializations());
    lastStored = stored;
    return stored;
  }

  private boolean store(Bases.Attempt attempt, TableSnapshot snapshot) {
    CompletableFuture<Boolean> end = new CompletableFuture<>();
    synchronized (this) {
      lastBegun = end;
    }
    try {
      return storeNow(attempt, snapshot);
    } finally {
      end.complete(true);
    }
  }

  /** Returns whether the attempt is durable now. */
  private boolean storeNow(Bases.Attempt attempt, TableSnapshot snapshot) {
    long start = execution.nanoTime();
    TableUploader.Upload upload = null;
    try {
      upload = target.uploader().upload(snapshot, target.share()::begin);
      target.bases().durable(attempt, upload.files());
      target.uploader().retain(upload.files());
      metrics.completed(upload, execution.nanoTime() - start);
      LOG.debug(
          "{}: materialization at {} is durable: {} files, {} new, {} bytes stored",
          target.name(),
          attempt.position(),
          upload.files().size(),
          upload.newFiles(),
          upload.newBytes());
      succeeded(attempt);
      target.onDurable().run();
      return true;
    } catch (RuntimeException | Error e) {
      giveUp(upload);
      failed(attempt, snapshot.directory(), e);
      return false;
    } finally {
      delete(snapshot.directory());
    }
  }

  private synchronized void succeeded(Bases.Attempt attempt) {
    lastPosition = attempt.position();
    if (consecutiveFailures >= policy.failuresAllowed()) {
      metrics.alarm(-1);
    }
    consecutiveFailures = 0;
    finished(untilNext());
  }

  /** The interval lies between the moments when runs are due, however long each takes. */
  private synchronized Duration untilNext() {
    Duration interval = policy.interval();
    Duration left = interval.minusNanos(execution.nanoTime() - dueNanos);
    Duration least = interval.dividedBy(LEAST_PAUSE_DIVISOR);
    if (!policy.isPeriodic()) {
      return Duration.ZERO;
    }
    return left.compareTo(least) < 0 ? least : left;
  }

  private synchronized void finished(Duration wait) {
    running = false;
    target.share().end();
    if (!wait.isZero() && !wait.isNegative()) {
      // A tenth of jitter either way keeps backends that met once from meeting for ever.
      scheduleIn(Duration.ofNanos((long) (wait.toNanos() * (0.9 + 0.2 * random.nextDouble()))));
    }
  }

  private void failed(Bases.Attempt attempt, Path directory, Throwable failure) {
    target.bases().failed(attempt);
    delete(directory);
    failed(failure);
  }

  private void giveUp(TableUploader.@Nullable Upload upload) {
    if (upload != null) {
      target.uploader().giveUp(upload.files());
    }
  }

  private synchronized void failed(Throwable failure) {
    if (closed || isClosed(failure)) {
      running = false;
      target.share().end();
      return;
    }
    consecutiveFailures++;
    metrics.failed();
    if (consecutiveFailures == policy.failuresAllowed()) {
      metrics.alarm(1);
    }
    LOG.warn(
        "{}: materialization failed, {} in a row; the changelog keeps all changes and it is tried"
            + " again: {}",
        target.name(),
        consecutiveFailures,
        failure instanceof StateBackendException ? failure.getMessage() : failure.toString());
    Duration pause = backoff();
    retryNanos = execution.nanoTime() + pause.toNanos();
    finished(pause);
  }

  private static boolean isClosed(Throwable failure) {
    return failure instanceof StateBackendException known && known.kind() == Kind.CLOSED;
  }

  private Duration backoff() {
    Duration wait = FIRST_BACKOFF.multipliedBy(1L << Math.min(20, consecutiveFailures - 1));
    Duration most = policy.isPeriodic() ? policy.interval() : Duration.ofMinutes(10);
    return wait.compareTo(most) < 0 ? wait : most;
  }

  /**
   * For a backend without changelog, or before its first base: takes a snapshot on the task thread
   * and stores it in the background.
   *
   * @return the base that holds exactly what was written so far
   */
  public CompletableFuture<Bases.Base> materializeNow(long position) {
    return snapshotNow(snapshot -> storeExact(position, snapshot));
  }

  /** As {@link #materializeNow}, but every file is stored anew. */
  public CompletableFuture<Bases.Base> materializeAnew(long position) {
    return snapshotNow(
        snapshot -> {
          target.uploader().forgetStored();
          return storeExact(position, snapshot);
        });
  }

  /**
   * Takes a snapshot on the task thread and stores every file in another place in the background.
   *
   * @return a base of the copy's own, which no checkpoint of this backend stands on
   */
  public CompletableFuture<Bases.Base> copy(long position, BlobStore into) {
    return snapshotNow(
        snapshot -> {
          try {
            return target
                .bases()
                .copied(
                    position,
                    target
                        .uploader()
                        .elsewhere(into)
                        .upload(snapshot, newBytes -> Pace.NONE)
                        .files());
          } finally {
            delete(snapshot.directory());
          }
        });
  }

  private CompletableFuture<Bases.Base> snapshotNow(Function<TableSnapshot, Bases.Base> store) {
    Path directory;
    synchronized (this) {
      directory = target.directory().resolve("snapshot-" + ++runs);
    }
    TableSnapshot snapshot;
    try {
      snapshot = target.table().snapshotNow(directory);
    } catch (RuntimeException | Error e) {
      // A full disk fails the checkpoint, not the task.
      delete(directory);
      return CompletableFuture.failedFuture(e);
    }
    CompletableFuture<Bases.Base> answer = new CompletableFuture<>();
    // Somebody waits for it, and it may stand behind an upload that takes its time.
    target.share().beginUrgent();
    // Also when there was no thread for it, or when it is closed before its turn.
    CompletableFuture<?> unused =
        answer.whenComplete((base, failure) -> target.share().endUrgent());
    unused =
        queue(answer, snapshot, store)
            .whenComplete(
                (base, failure) -> {
                  if (failure != null) {
                    delete(snapshot.directory());
                    end(answer, failure);
                  }
                });
    return answer;
  }

  /**
   * Stores a snapshot in its turn. Who closes answers what is queued, and nothing that comes later.
   */
  private synchronized CompletableFuture<Bases.Base> queue(
      CompletableFuture<Bases.Base> answer,
      TableSnapshot snapshot,
      Function<TableSnapshot, Bases.Base> store) {
    if (closed) {
      return CompletableFuture.failedFuture(closedMeanwhile());
    }
    queued.add(answer);
    return inOrder(
        () -> {
          Bases.Base base = begin(answer, snapshot, store);
          // Before the next store replaces the base: the checkpoint keeps its blobs.
          answer.complete(base);
          return base;
        });
  }

  private void end(CompletableFuture<Bases.Base> answer, Throwable failure) {
    synchronized (this) {
      queued.removeIf(each -> each == answer);
    }
    answer.completeExceptionally(
        failure instanceof CompletionException ? failure.getCause() : failure);
  }

  private Bases.Base begin(
      CompletableFuture<Bases.Base> answer,
      TableSnapshot snapshot,
      Function<TableSnapshot, Bases.Base> store) {
    CompletableFuture<Boolean> end = new CompletableFuture<>();
    synchronized (this) {
      queued.removeIf(each -> each == answer);
      if (closed) {
        throw closedMeanwhile();
      }
      lastBegun = end;
    }
    try {
      return store.apply(snapshot);
    } finally {
      end.complete(true);
    }
  }

  private static StateBackendException closedMeanwhile() {
    return StateBackendException.closed("the backend was closed before its table was stored");
  }

  private Bases.Base storeExact(long position, TableSnapshot snapshot) {
    long start = execution.nanoTime();
    TableUploader.Upload upload = null;
    try {
      upload = target.uploader().upload(snapshot, newBytes -> Pace.NONE);
      Bases.Base base = target.bases().exact(position, upload.files());
      target.uploader().retain(upload.files());
      metrics.completed(upload, execution.nanoTime() - start);
      return base;
    } catch (RuntimeException | Error e) {
      giveUp(upload);
      metrics.failed();
      throw e;
    } finally {
      delete(snapshot.directory());
    }
  }

  /** Blobs that a later materialization may name, or that are being written. */
  public Set<BlobName> liveBlobs() {
    return target.uploader().liveBlobs();
  }

  private static void delete(Path directory) {
    try {
      LocalFiles.deleteTree(directory);
    } catch (IOException e) {
      LOG.warn("cannot delete the local snapshot '{}': {}", directory, e.getMessage());
    }
  }

  /**
   * No further runs. Waits for the piece of a file that is being stored, so that afterwards nothing
   * of this backend appears in the store any more.
   */
  @Override
  public void close() {
    CompletableFuture<?> last;
    List<CompletableFuture<Bases.Base>> unanswered;
    // First, so that a run which is only queued stores nothing when its turn comes.
    target.uploader().stop();
    synchronized (this) {
      closed = true;
      if (next != null) {
        next.cancel();
      }
      last = lastBegun;
      // Not waited for: another backend's upload may stand before it, or hang.
      unanswered = List.copyOf(queued);
      queued.clear();
    }
    unanswered.forEach(each -> each.completeExceptionally(closedMeanwhile()));
    target.share().close();
    Object unused = execution.await(last.handle((done, failure) -> true));
  }
}
