package io.alluvium.internal.execution;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Execution;
import java.security.AccessControlContext;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.security.ProtectionDomain;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Threads of a process: four bounded pools and one scheduler, all daemons. Thread-safe. */
public final class ThreadedExecution implements Execution {

  private static final Logger LOG = LoggerFactory.getLogger(ThreadedExecution.class);

  /** What a task needs to end what it does, with some reserve. */
  private static final long GIVE_WAY_NANOS = 100_000;

  /** A task that takes longer, such as one without a changelog, holds nobody up. */
  private static final int GIVE_WAY_TIMES = 10;

  @SuppressWarnings("removal")
  private static final AccessControlContext NOTHING_INHERITED =
      new AccessControlContext(new ProtectionDomain[0]);

  private final ExecutorService uploads;
  private final ExecutorService hedges;
  private final ExecutorService downloads;
  private final ExecutorService materializations;
  private final ScheduledThreadPoolExecutor scheduler;
  private final AtomicInteger goFirst = new AtomicInteger();

  /**
   * How many threads each pool has at most; threads are started as they are needed and end after a
   * minute of idleness.
   */
  public record Sizes(int uploads, int downloads, int materializations) {}

  public ThreadedExecution(Sizes sizes) {
    uploads = pool("alluvium-upload", sizes.uploads());
    hedges = pool("alluvium-hedge", sizes.uploads());
    downloads = pool("alluvium-download", sizes.downloads());
    materializations = pool("alluvium-materialize", sizes.materializations());
    scheduler = new ScheduledThreadPoolExecutor(1, threadFactory("alluvium-schedule"));
    scheduler.setRemoveOnCancelPolicy(true);
    scheduler.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    // All that is tried again is tried by it, so it must not be the thread that cannot be started.
    int unused = scheduler.prestartAllCoreThreads();
  }

  private static ExecutorService pool(String name, int size) {
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            size, size, 1, TimeUnit.MINUTES, new LinkedBlockingQueue<>(), threadFactory(name));
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  /** As {@link Execution#threadFactory}. */
  public static ThreadFactory threadFactory(String name) {
    AtomicInteger count = new AtomicInteger();
    return task -> {
      Thread thread = thread(task, name + "-" + count.incrementAndGet());
      thread.setDaemon(true);
      thread.setUncaughtExceptionHandler(
          (failed, cause) -> LOG.error("thread {} ended by a defect", failed.getName(), cause));
      return thread;
    };
  }

  /**
   * A thread that keeps nothing of who asked for it. That may be a task of a job that ends long
   * before the thread: its class loader would stay as the thread's own, and its classes on the
   * stack of the call in the context that a thread inherits.
   */
  @SuppressWarnings("removal") // until the inherited context is gone from Java as well
  private static Thread thread(Runnable task, String name) {
    return AccessController.doPrivileged(
        (PrivilegedAction<Thread>)
            () -> {
              Thread thread = new Thread(null, task, name, 0, false);
              thread.setContextClassLoader(ThreadedExecution.class.getClassLoader());
              return thread;
            },
        NOTHING_INHERITED);
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public <T> T first(Supplier<T> part) {
    goFirst.incrementAndGet();
    try {
      return part.get();
    } finally {
      goFirst.decrementAndGet();
    }
  }

  /** A yield is not enough: the system may give the processor back at once. */
  @Override
  public void giveWay() {
    int times = 0;
    do {
      LockSupport.parkNanos(GIVE_WAY_NANOS);
    } while (goFirst.get() > 0 && ++times < GIVE_WAY_TIMES);
  }

  @Override
  public long currentTimeMillis() {
    return System.currentTimeMillis();
  }

  @Override
  public Executor uploads() {
    return uploads;
  }

  @Override
  public Executor hedges() {
    return hedges;
  }

  @Override
  public Executor downloads() {
    return downloads;
  }

  @Override
  public Executor materializations() {
    return materializations;
  }

  @Override
  public Scheduled schedule(Duration delay, Runnable task) {
    try {
      Future<?> future = scheduler.schedule(logged(task), delay.toNanos(), TimeUnit.NANOSECONDS);
      return () -> future.cancel(false);
    } catch (RejectedExecutionException e) {
      throw StateBackendException.of(
          Kind.CLOSED,
          "the state backend of this process is closed, and its threads have stopped",
          e);
    }
  }

  /** A scheduled task's failure would otherwise vanish in its future. */
  private static Runnable logged(Runnable task) {
    return () -> {
      try {
        task.run();
      } catch (RuntimeException | Error e) {
        LOG.error("a scheduled task failed", e);
        throw e;
      }
    };
  }

  @Override
  public <T> T await(CompletableFuture<T> future) {
    try {
      return future.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw StateBackendException.unavailable("interrupted while waiting", e);
    } catch (ExecutionException e) {
      throw unwrap(Objects.requireNonNullElse(e.getCause(), e));
    }
  }

  private static RuntimeException unwrap(Throwable cause) {
    if (cause instanceof StateBackendException known) {
      // The trace of the thread that failed says where; the kind and the sentence stay.
      return StateBackendException.of(known.kind(), String.valueOf(known.getMessage()), known);
    }
    return StateBackendException.of(Kind.INTERNAL, "unexpected failure: " + cause, cause);
  }

  @Override
  public void close() {
    scheduler.shutdownNow();
    uploads.shutdownNow();
    hedges.shutdownNow();
    downloads.shutdownNow();
    materializations.shutdownNow();
    try {
      // Files and native handles that the pools still touch are released by others after this.
      for (ExecutorService pool : List.of(uploads, hedges, downloads, materializations)) {
        if (!pool.awaitTermination(10, TimeUnit.SECONDS)) {
          LOG.warn(
              "background threads did not stop within 10 seconds; they are daemons and end with the"
                  + " process");
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
