package io.alluvium.testkit;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** An execution with real threads and real time; few threads of each kind. Thread-safe. */
public final class ThreadExecution implements Execution {

  private static final int THREADS = 3;

  private final ExecutorService uploads = Executors.newFixedThreadPool(THREADS, named("upload"));
  private final ExecutorService downloads =
      Executors.newFixedThreadPool(THREADS, named("download"));
  private final ExecutorService materializations =
      Executors.newFixedThreadPool(1, named("materialize"));
  private final ScheduledExecutorService scheduler =
      Executors.newSingleThreadScheduledExecutor(named("schedule"));

  private static ThreadFactory named(String name) {
    return task -> {
      Thread thread = new Thread(task, "test-" + name);
      thread.setDaemon(true);
      return thread;
    };
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
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
  public Executor downloads() {
    return downloads;
  }

  @Override
  public Executor materializations() {
    return materializations;
  }

  @Override
  public Scheduled schedule(Duration delay, Runnable task) {
    ScheduledFuture<?> future = scheduler.schedule(task, delay.toNanos(), TimeUnit.NANOSECONDS);
    return () -> future.cancel(false);
  }

  @Override
  public <T> T await(CompletableFuture<T> future) {
    try {
      return future.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw StateBackendException.unavailable("interrupted while waiting", e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof StateBackendException cause) {
        throw cause;
      }
      throw StateBackendException.of(Kind.INTERNAL, "a background task failed", e);
    }
  }

  @Override
  public void close() {
    scheduler.shutdownNow();
    materializations.shutdownNow();
    downloads.shutdownNow();
    uploads.shutdownNow();
  }
}
