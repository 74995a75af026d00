package io.alluvium.internal.restore;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;

/** Runs everything at once on the calling thread; time passes by what was slept. Confined. */
final class DirectExecution implements Execution {

  private long nanos;

  @Override
  public long nanoTime() {
    return nanos;
  }

  @Override
  public long currentTimeMillis() {
    return nanos / 1_000_000;
  }

  @Override
  public Executor uploads() {
    return Runnable::run;
  }

  @Override
  public Executor downloads() {
    return Runnable::run;
  }

  @Override
  public Executor materializations() {
    return Runnable::run;
  }

  @Override
  public Scheduled schedule(Duration delay, Runnable task) {
    nanos += delay.toNanos();
    task.run();
    return () -> {};
  }

  @Override
  public <T> T await(CompletableFuture<T> future) {
    if (!future.isDone()) {
      throw new AssertionError("would wait for ever");
    }
    try {
      return future.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof StateBackendException known) {
        throw known;
      }
      throw StateBackendException.of(Kind.INTERNAL, "unexpected failure", e);
    }
  }

  @Override
  public void close() {}
}
