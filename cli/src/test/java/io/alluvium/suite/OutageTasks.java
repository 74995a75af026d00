package io.alluvium.suite;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackendException;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Subtasks that count random keys, a thread each, at a few megabytes of changes per second all
 * together. Driven by one thread; owns its threads.
 */
final class OutageTasks implements AutoCloseable {

  /** How often a key was updated, in the first eight bytes. */
  static final StateDescriptor<ValueState<byte[]>> COUNT =
      StateDescriptor.value("count", Serializers.bytes());

  static final int KEYS = 4_000;
  private static final int VALUE_BYTES = 128;
  private static final int UPDATES_A_MILLISECOND = 10;

  /**
   * A checkpoint that was asked for.
   *
   * @param parts of each subtask, once it has reached it
   */
  record Taken(long id, List<CompletableFuture<Part>> parts) {

    /** Waits until it is durable. */
    List<CheckpointHandle> handles() {
      try {
        return parts.stream().map(part -> part.join().handle.join()).toList();
      } catch (CompletionException e) {
        throw e.getCause() instanceof StateBackendException known ? known : e;
      }
    }

    /** Updates of each key that are part of it, by subtask. */
    List<long[]> counts() {
      return parts.stream().map(part -> part.join().counts).toList();
    }
  }

  record Part(CompletableFuture<CheckpointHandle> handle, long[] counts) {}

  private record Asked(long id, CompletableFuture<Part> part) {}

  private final List<Task> tasks = new ArrayList<>();
  private long lastId;

  OutageTasks(List<KeyedBackend<Integer>> backends) {
    backends.forEach(backend -> tasks.add(new Task(backend)));
    tasks.forEach(Thread::start);
  }

  /** Asks all subtasks, each of which answers when it gets to it. */
  Taken checkpoint() {
    long id = ++lastId;
    List<CompletableFuture<Part>> parts = new ArrayList<>();
    for (Task task : tasks) {
      Asked asked = new Asked(id, new CompletableFuture<>());
      task.asked.add(asked);
      // A task that failed answers nothing.
      parts.add(asked.part.orTimeout(3, TimeUnit.MINUTES));
    }
    return new Taken(id, parts);
  }

  void confirm(long id) {
    tasks.forEach(task -> task.backend.confirm(id));
  }

  void abort(long id) {
    tasks.forEach(task -> task.backend.abort(id));
  }

  /** How many updates all subtasks made so far. */
  long updates() {
    return tasks.stream().mapToLong(task -> task.updates.sum()).sum();
  }

  /** Throws what a subtask failed with. */
  void checkAlive() {
    tasks.forEach(task -> task.failure.getNow(0));
  }

  @Override
  public void close() {
    tasks.forEach(task -> task.stopped = true);
    for (Task task : tasks) {
      try {
        task.join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
    checkAlive();
  }

  /** Owns its backend but for the verdicts on checkpoints. */
  private static final class Task extends Thread {
    private final KeyedBackend<Integer> backend;
    private final BlockingQueue<Asked> asked = new LinkedBlockingQueue<>();
    private final CompletableFuture<Integer> failure = new CompletableFuture<>();
    private final long[] counts = new long[KEYS];
    private final int[] keys;
    private final LongAdder updates = new LongAdder();
    private volatile boolean stopped;

    private Task(KeyedBackend<Integer> backend) {
      super("task-" + backend.keyGroups());
      this.backend = backend;
      this.keys =
          IntStream.range(0, KEYS)
              .filter(key -> backend.keyGroups().contains(backend.keyGroupOf(key)))
              .toArray();
    }

    @Override
    public void run() {
      try {
        ValueState<byte[]> state = backend.state(COUNT);
        SplittableRandom random = new SplittableRandom(backend.keyGroups().from());
        while (!stopped) {
          for (Asked next = asked.poll(); next != null; next = asked.poll()) {
            next.part.complete(new Part(backend.checkpoint(next.id), counts.clone()));
          }
          for (int i = 0; i < UPDATES_A_MILLISECOND; i++) {
            int key = keys[random.nextInt(keys.length)];
            counts[key]++;
            backend.setCurrentKey(key);
            state.update(
                ByteBuffer.allocate(VALUE_BYTES).putLong(count(state.value()) + 1).array());
          }
          updates.add(UPDATES_A_MILLISECOND);
          LockSupport.parkNanos(1_000_000);
        }
      } catch (Throwable e) {
        failure.completeExceptionally(e);
      }
    }
  }

  /** What a stored value says. */
  static long count(byte @Nullable [] value) {
    return value == null ? 0 : ByteBuffer.wrap(value).getLong();
  }
}
