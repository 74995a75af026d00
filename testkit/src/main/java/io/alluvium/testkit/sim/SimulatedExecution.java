package io.alluvium.testkit.sim;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** Time and threads of a simulated process. Used only by the actor whose turn it is. */
public final class SimulatedExecution implements Execution {

  private static final int UPLOADS = 3;
  private static final int DOWNLOADS = 2;
  private static final int MATERIALIZATIONS = 1;
  private static final long WALL_CLOCK_START_MILLIS = 1_700_000_000_000L;

  private final Simulation simulation;
  private final SimulatedProcess process;
  private final Pool uploads = new Pool("upload", UPLOADS);
  private final Pool hedges = new Pool("hedge", UPLOADS);
  private final Pool downloads = new Pool("download", DOWNLOADS);
  private final Pool materializations = new Pool("materialize", MATERIALIZATIONS);
  private boolean closed;

  SimulatedExecution(Simulation simulation, SimulatedProcess process) {
    this.simulation = simulation;
    this.process = process;
  }

  @Override
  public long nanoTime() {
    return simulation.nanoTime();
  }

  @Override
  public long currentTimeMillis() {
    return WALL_CLOCK_START_MILLIS + simulation.nanoTime() / 1_000_000;
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

  /** Sets how many later materializations may run at once. */
  public void materializeAtOnce(int count) {
    materializations.threads = count;
  }

  @Override
  public Scheduled schedule(Duration delay, Runnable task) {
    if (closed) {
      return () -> {};
    }
    Runnable cancel = simulation.schedule(process, delay.toNanos(), task);
    return cancel::run;
  }

  @Override
  public <T> T await(CompletableFuture<T> future) {
    simulation.await(process, future);
    try {
      return future.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof StateBackendException cause) {
        throw cause;
      }
      throw StateBackendException.of(Kind.INTERNAL, "a background task failed", e);
    }
  }

  /** A scheduling point. */
  public void point(String label) {
    simulation.point(process, label);
  }

  /** Waits in virtual time, for injected delays and for tests. */
  public void sleep(Duration duration) {
    CompletableFuture<Boolean> over = new CompletableFuture<>();
    schedule(duration, () -> over.complete(true));
    await(over);
  }

  @Override
  public void close() {
    closed = true;
    uploads.queue.clear();
    hedges.queue.clear();
    downloads.queue.clear();
    materializations.queue.clear();
  }

  /** Runs a bounded number of tasks at once, in the order of their submission. */
  private final class Pool implements Executor {
    private final String name;
    private int threads;
    private final Deque<Runnable> queue = new ArrayDeque<>();
    private int busy;

    private Pool(String name, int threads) {
      this.name = name;
      this.threads = threads;
    }

    @Override
    public void execute(Runnable task) {
      if (closed) {
        throw new RejectedExecutionException(name + " threads are stopped");
      }
      queue.add(task);
      if (busy < threads) {
        busy++;
        process.spawnInBackground(name, this::work);
      }
    }

    private void work() {
      try {
        for (Runnable task = queue.poll(); task != null; task = queue.poll()) {
          task.run();
        }
      } finally {
        busy--;
      }
    }
  }
}
