package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.CheckpointHandle;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.internal.execution.ThreadedExecution;
import io.alluvium.serializer.Serializers;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Closing is what a job does when it is told that a checkpoint failed. The task that it is told on
 * may be in the midst of a checkpoint of another backend.
 */
final class CloseInCallbackTest {

  @TempDir private Path directory;

  @Test
  void close_inACallbackOnTheTaskOfAnotherBackend_ends() throws InterruptedException {
    RefusingExecution execution = new RefusingExecution();
    StateBackend backend =
        StateBackend.open(
            Map.of(
                "state.backend.type",
                "heap",
                "state.checkpoints.dir",
                directory.resolve("checkpoints").toUri().toString(),
                "dstl.dfs.batch.persist-delay",
                "10 min",
                "state.backend.rocksdb.localdir",
                directory.resolve("local").toString()),
            new Components(Optional.empty(), Optional.of(execution), new Random(1), Metrics.NONE));
    boolean unused = backend.catalog().takeOver("job").isPresent();
    KeyedBackend<Long> first = backend.keyed(Serializers.int64(), 8, new KeyGroupRange(0, 4));
    KeyedBackend<Long> second = backend.keyed(Serializers.int64(), 8, new KeyGroupRange(4, 8));
    write(first);
    CountDownLatch closed = new CountDownLatch(1);
    CompletableFuture<CheckpointHandle> told =
        first
            .checkpoint(1)
            .whenComplete(
                (handle, failure) -> {
                  backend.close();
                  closed.countDown();
                });
    assertThat(execution.encoded.await(1, TimeUnit.MINUTES)).isTrue();
    execution.refuses = true;
    CompletableFuture<Void> task =
        CompletableFuture.runAsync(
            () -> {
              CompletableFuture<CheckpointHandle> failed = second.checkpoint(1);
              assertThat(failed).isNotNull();
            },
            runnable -> new Thread(runnable, "second").start());

    assertThat(closed.await(1, TimeUnit.MINUTES)).as("close returned").isTrue();
    task.orTimeout(1, TimeUnit.MINUTES)
        .handle((nothing, closedToo) -> assertThat(told).isCompletedExceptionally())
        .join();
  }

  private static void write(KeyedBackend<Long> backend) {
    ValueState<Long> state = backend.state(StateDescriptor.value("v", Serializers.int64()));
    for (long key = 0; key < 100; key++) {
      if (backend.keyGroups().contains(backend.keyGroupOf(key))) {
        backend.setCurrentKey(key);
        state.update(key);
      }
    }
  }

  /** Starts no thread and no timer from some moment on. */
  private static final class RefusingExecution implements Execution {

    private final ThreadedExecution threads =
        new ThreadedExecution(new ThreadedExecution.Sizes(2, 2, 1));

    /** The first task of the log. */
    private final CountDownLatch encoded = new CountDownLatch(1);

    private volatile boolean refuses;

    @Override
    public Executor uploads() {
      return task -> {
        checkAllowed();
        threads
            .uploads()
            .execute(
                () -> {
                  task.run();
                  encoded.countDown();
                });
      };
    }

    @Override
    public Scheduled schedule(Duration delay, Runnable task) {
      checkAllowed();
      return threads.schedule(delay, task);
    }

    private void checkAllowed() {
      if (refuses) {
        throw new OutOfMemoryError("unable to create native thread");
      }
    }

    @Override
    public Executor downloads() {
      return threads.downloads();
    }

    @Override
    public Executor materializations() {
      return threads.materializations();
    }

    @Override
    public <T> T await(CompletableFuture<T> future) {
      return threads.await(future);
    }

    @Override
    public <T> T first(Supplier<T> part) {
      return threads.first(part);
    }

    @Override
    public void giveWay() {
      threads.giveWay();
    }

    @Override
    public long nanoTime() {
      return threads.nanoTime();
    }

    @Override
    public long currentTimeMillis() {
      return threads.currentTimeMillis();
    }

    @Override
    public void close() {
      threads.close();
    }
  }
}
