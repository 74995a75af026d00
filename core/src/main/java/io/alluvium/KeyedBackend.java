package io.alluvium;

import io.alluvium.serializer.Serializer;
import io.alluvium.state.Namespaced;
import io.alluvium.state.State;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.TimerQueue;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * The keyed state of one subtask: the facade that an operator works with.
 *
 * <p>Confined to the task thread, except {@link #confirm}, {@link #abort}, {@link #states} and
 * {@link #restoreReport}, which any thread may call. The task thread is the first that selects a
 * key, reads or writes a state or a timer, takes a checkpoint, lists keys or calls {@link #idle};
 * until then one thread may make the backend and register its states, and hand it to another. It
 * stays the owner until it ends or calls {@link #handOver}. Whatever another thread calls
 * meanwhile, on the backend, its states, iterators or streams, is {@code INVALID} and changes
 * nothing. To take checkpoints by a timer, send them to the task thread through its queue.
 *
 * <p>No call waits for storage, except that a write waits while the changelog's bytes in flight are
 * at their bound ({@code dstl.dfs.upload.max-in-flight}).
 *
 * @param <K> type of the keys
 */
public interface KeyedBackend<K> extends AutoCloseable {

  KeyGroupRange keyGroups();

  /** Number of key groups of the whole job; fixed for the life of its state. */
  int maxParallelism();

  /**
   * Selects the key that every state is seen at. {@code INVALID} when it belongs to another
   * subtask.
   */
  void setCurrentKey(K key);

  /** The selected key; {@code INVALID} before any was selected. */
  K currentKey();

  /** The key group that a key belongs to; the same for every key with the same serialized form. */
  int keyGroupOf(K key);

  /**
   * Gives the state of a descriptor, registering it when it is new. The same name gives the same
   * object. A name that was registered with another kind, or restored with a format that the given
   * serializers do not read, is {@code INCOMPATIBLE}.
   */
  <S extends State> S state(StateDescriptor<S> descriptor);

  /** As {@link #state(StateDescriptor)}, with namespaces. */
  <N, S extends State> Namespaced<N, S> state(
      StateDescriptor<S> descriptor, Serializer<N> namespace);

  /** Gives the timer queue of a name, registering it when it is new. */
  <N> TimerQueue<K, N> timers(String name, Serializer<N> namespace);

  /**
   * Every key that has something stored in a state without namespaces, each once, in no order;
   * close the stream.
   */
  Stream<K> keys(State state);

  /**
   * Every key that has something stored in a namespace of a state, each once, in no order; close
   * the stream.
   */
  <N> Stream<K> keys(Namespaced<N, ?> state, N namespace);

  /**
   * Takes a checkpoint: seals the changelog, notes its end and returns. No I/O on this thread (with
   * the changelog disabled: flushes the table and takes its snapshot on this thread).
   *
   * @param checkpointId greater than any before
   * @return completes on a background thread once everything that the handle names is durable;
   *     fails with {@code UNAVAILABLE} when storage refuses for too long, and then nothing is lost
   *     and a later checkpoint may succeed. Either {@link #confirm} or {@link #abort} must follow
   */
  CompletableFuture<CheckpointHandle> checkpoint(long checkpointId);

  /**
   * The checkpoint is part of a stored manifest. Aborts every older one that is still pending.
   * Idempotent; of an id that is not pending only the older ones are settled.
   */
  void confirm(long checkpointId);

  /**
   * The checkpoint is not needed any more: what only it names may be collected from now on, and a
   * later commit of it fails once that has happened. Idempotent; a confirmed one stays confirmed,
   * and an id that is not pending is ignored.
   */
  void abort(long checkpointId);

  /**
   * Does a bounded piece of work that waits for the task thread (a heap table's materialization).
   * Called by the other methods often enough while records flow; an idle task may call it now and
   * then.
   */
  void idle();

  /** Measurements of the last restore. */
  RestoreReport restoreReport();

  /** What this backend consists of now, for tools and metrics; any thread. */
  List<StateRegistration> states();

  /**
   * The task thread lets go: the next thread that uses the backend is its task thread. For engines
   * that run one task on changing threads, which must hand over safely, so that the next thread
   * sees what this one did.
   */
  void handOver();

  /**
   * Stops and releases everything, native memory included. Pending checkpoints fail with {@code
   * CLOSED}. Idempotent.
   *
   * @throws StateBackendException {@code INVALID} on another thread while the task thread lives:
   *     let it close its backend, or close the {@link StateBackend}, which any thread may do at any
   *     time
   */
  @Override
  void close();
}
