package io.alluvium.flink;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.alluvium.StateBackendException;
import io.alluvium.spi.Execution;
import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.util.IOUtils;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The attempts to store one file of a checkpoint. Thread-safe; guarded by {@code this}, not held
 * across I/O.
 */
final class FileAttempts implements Closeable {

  private static final Logger LOG = LoggerFactory.getLogger(FileAttempts.class);

  /*
   * 1. Each attempt has a stream, and so a file, of its own. The first that succeeds decides; the file of another that
   *    succeeds later is deleted by the thread that made it.
   * 2. An attempt that fails is followed by the next after a pause. One that has not returned in time goes on, and the
   *    next is made beside it; at most two run at once.
   * 3. The file has failed when as many attempts as are allowed have failed. Time alone fails nothing: how long a
   *    checkpoint may take is Flink's to say.
   * 4. When it is decided, the streams of the others are closed, by another thread, because closing one that hangs may
   *    hang as well. The attempts do not run in the thread that waits, for the same reason.
   */
  private static final int MAX_RUNNING = 2;

  /** One attempt under way; its registry holds its stream. */
  private record Attempt(CloseableRegistry streams, boolean beside) {}

  private final CheckpointFiles context;
  private final CheckpointFiles.File file;
  private final CloseableRegistry registry;
  private final CompletableFuture<StreamStateHandle> result = new CompletableFuture<>();

  @GuardedBy("this")
  private final Set<Attempt> running = new LinkedHashSet<>();

  @GuardedBy("this")
  private int started;

  @GuardedBy("this")
  private final List<Throwable> failures = new ArrayList<>();

  @GuardedBy("this")
  private boolean pausing;

  @GuardedBy("this")
  private boolean decided;

  FileAttempts(CheckpointFiles context, CheckpointFiles.File file, CloseableRegistry registry) {
    this.context = context;
    this.file = file;
    this.registry = registry;
  }

  /** Makes the first attempt. */
  FileAttempts start() {
    try {
      registry.registerCloseable(this);
      next();
    } catch (IOException e) {
      result.completeExceptionally(e);
    }
    return this;
  }

  /** The file, once it is stored; not the caller's to complete. */
  CompletableFuture<StreamStateHandle> stored() {
    return result;
  }

  /** Nobody needs the file any more: what is there of it goes. Does not wait. */
  void giveUp() {
    synchronized (this) {
      if (decided) {
        return;
      }
      decided = true;
    }
    List<Attempt> others = unregister();
    result.completeExceptionally(
        new IOException("'" + file.name() + "' is not needed, its checkpoint came to nothing"));
    close(others);
  }

  /** The checkpoint was cancelled: the streams are closed with the registry that they are in. */
  @Override
  public void close() {
    synchronized (this) {
      if (decided) {
        return;
      }
      decided = true;
    }
    result.completeExceptionally(
        new IOException(
            "'" + file.name() + "' was not stored, because its checkpoint was cancelled"));
  }

  private int allowed() {
    return context.policy().attemptsOfAWaiter();
  }

  /** Makes one more attempt if another is allowed. */
  private void next() {
    Attempt attempt;
    int before;
    synchronized (this) {
      pausing = false;
      if (decided || started == allowed() || running.size() == MAX_RUNNING) {
        return;
      }
      before = started++;
      attempt = new Attempt(new CloseableRegistry(), !running.isEmpty());
      running.add(attempt);
    }
    if (before > 0) {
      context.metrics().again(attempt.beside);
    }
    try {
      registry.registerCloseable(attempt.streams);
    } catch (IOException e) {
      ended(attempt, null, e);
      return;
    }
    Execution.handOff(
        context.threads(), () -> run(attempt, before), refusal -> ended(attempt, null, refusal));
  }

  private void run(Attempt attempt, int before) {
    Execution.@Nullable Scheduled timer = null;
    StreamStateHandle handle = null;
    Throwable failure = null;
    long start = context.execution().nanoTime();
    try {
      Optional<Duration> timeout = context.policy().timeout(before, file.sizeBytes());
      if (file.purpose().hedged() && timeout.isPresent()) {
        timer =
            Execution.handOff(
                context.execution(), timeout.get(), () -> slow(attempt), this::untimed);
      }
      handle = StreamWriter.write(file.open(), attempt.streams, out -> file.content().accept(out));
      context
          .metrics()
          .stored(file.purpose(), handle, (context.execution().nanoTime() - start) / 1000);
    } catch (Throwable e) {
      // Whatever it is, somebody waits for the end of the attempt.
      failure = e;
    } finally {
      if (timer != null) {
        timer.cancel();
      }
    }
    ended(attempt, handle, failure);
  }

  private void untimed(StateBackendException refusal) {
    LOG.debug("'{}' has no second attempt if it is slow: {}", file.name(), refusal.getMessage());
  }

  private void slow(Attempt attempt) {
    synchronized (this) {
      if (pausing || !running.contains(attempt)) {
        return;
      }
    }
    next();
  }

  private void ended(
      Attempt attempt, @Nullable StreamStateHandle handle, @Nullable Throwable failure) {
    boolean unused = registry.unregisterCloseable(attempt.streams);
    if (handle != null) {
      succeeded(attempt, handle);
    } else if (failure != null) {
      failed(attempt, failure);
    }
  }

  private void succeeded(Attempt attempt, StreamStateHandle handle) {
    boolean first;
    synchronized (this) {
      running.remove(attempt);
      first = !decided;
      decided = true;
    }
    if (!first) {
      StreamWriter.discard(handle);
      return;
    }
    if (attempt.beside) {
      context.metrics().hedgeDecided();
    }
    List<Attempt> others = unregister();
    result.complete(handle);
    close(others);
  }

  private void failed(Attempt attempt, Throwable failure) {
    Optional<Duration> pause = Optional.empty();
    boolean over;
    synchronized (this) {
      running.remove(attempt);
      if (decided) {
        return;
      }
      failures.add(failure);
      over = isFinal(failure) || (started == allowed() && running.isEmpty());
      decided = over;
      if (!over && started < allowed() && !pausing) {
        pausing = true;
        pause = Optional.of(context.policy().pause(failures.size(), context.random()));
      }
    }
    context.metrics().failed();
    if (over) {
      fail();
    } else if (pause.isPresent()) {
      LOG.info(
          "cannot store '{}', next attempt in {}: {}",
          file.name(),
          pause.get(),
          failure.toString());
      Execution.Scheduled unused =
          Execution.handOff(context.execution(), pause.get(), this::next, this::noMore);
    }
  }

  /** Without a timer for the next attempt, the one that may still run decides. */
  private void noMore(StateBackendException refusal) {
    boolean over;
    synchronized (this) {
      if (decided) {
        return;
      }
      started = allowed();
      failures.get(failures.size() - 1).addSuppressed(refusal);
      over = running.isEmpty();
      decided = over;
    }
    if (over) {
      fail();
    }
  }

  /** Whether another attempt would fail in the same way. */
  private static boolean isFinal(Throwable failure) {
    return failure instanceof Error
        || (failure instanceof StateBackendException known
            && known.kind() != StateBackendException.Kind.UNAVAILABLE);
  }

  private void fail() {
    List<Throwable> all;
    synchronized (this) {
      all = List.copyOf(failures);
    }
    Throwable last = all.get(all.size() - 1);
    IOException failure =
        new IOException(
            "cannot store '"
                + file.name()
                + "' after "
                + all.size()
                + (all.size() == 1 ? " attempt: " : " attempts: ")
                + last,
            last);
    all.subList(0, all.size() - 1).forEach(failure::addSuppressed);
    List<Attempt> others = unregister();
    result.completeExceptionally(failure);
    close(others);
  }

  /** It is decided: a closed registry leaves what still runs to {@link #close(List)}. */
  private List<Attempt> unregister() {
    List<Attempt> others;
    synchronized (this) {
      others = new ArrayList<>(running);
    }
    boolean unused = registry.unregisterCloseable(this);
    for (Attempt other : others) {
      unused = registry.unregisterCloseable(other.streams);
    }
    return others;
  }

  private void close(List<Attempt> others) {
    for (Attempt other : others) {
      Execution.handOff(
          context.threads(),
          () -> IOUtils.closeQuietly(other.streams),
          refusal ->
              LOG.debug(
                  "a slow stream of '{}' is left to itself: {}",
                  file.name(),
                  refusal.getMessage()));
    }
  }
}
