package io.alluvium.internal.backend;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreReport;
import io.alluvium.StateBackendException;
import io.alluvium.StateRegistration;
import io.alluvium.internal.state.StateRegistry;
import io.alluvium.serializer.Serializer;
import io.alluvium.state.Namespaced;
import io.alluvium.state.State;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.TimerQueue;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * The keyed state of one subtask: typed states over its bytes. Confined to the task thread, except
 * {@link #confirm} and {@link #abort}.
 */
final class SubtaskBackend<K> implements KeyedBackend<K> {

  private final ByteSubtask bytes;
  private final KeyContext<K> keys;
  private final StateRegistry<K> states;

  /** Owns all of them. */
  SubtaskBackend(ByteSubtask bytes, KeyContext<K> keys, StateRegistry<K> states) {
    this.bytes = bytes;
    this.keys = keys;
    this.states = states;
  }

  @Override
  public KeyGroupRange keyGroups() {
    return keys.keyGroups();
  }

  @Override
  public int maxParallelism() {
    return bytes.maxParallelism();
  }

  @Override
  public void setCurrentKey(K key) {
    bytes.advance();
    keys.setCurrentKey(key);
  }

  @Override
  public K currentKey() {
    return keys.currentKey();
  }

  @Override
  public int keyGroupOf(K key) {
    return keys.keyGroupOf(key);
  }

  @Override
  public <S extends State> S state(StateDescriptor<S> descriptor) {
    checkOpen();
    return states.state(descriptor);
  }

  @Override
  public <N, S extends State> Namespaced<N, S> state(
      StateDescriptor<S> descriptor, Serializer<N> namespace) {
    checkOpen();
    return states.state(descriptor, namespace);
  }

  @Override
  public <N> TimerQueue<K, N> timers(String name, Serializer<N> namespace) {
    checkOpen();
    return states.timers(name, namespace);
  }

  @Override
  public Stream<K> keys(State state) {
    checkOpen();
    return states.keys(state);
  }

  @Override
  public <N> Stream<K> keys(Namespaced<N, ?> state, N namespace) {
    checkOpen();
    return states.keys(state, namespace);
  }

  @Override
  public CompletableFuture<CheckpointHandle> checkpoint(long checkpointId) {
    checkOpen();
    return bytes.checkpoint(
        checkpointId,
        new ByteSubtask.Formats(keys.serializer().snapshot(), states.registrations()));
  }

  @Override
  public void confirm(long checkpointId) {
    bytes.confirm(checkpointId);
  }

  @Override
  public void abort(long checkpointId) {
    bytes.abort(checkpointId);
  }

  @Override
  public void idle() {
    bytes.idle();
  }

  @Override
  public RestoreReport restoreReport() {
    return bytes.restoreReport();
  }

  @Override
  public List<StateRegistration> states() {
    return states.registrations();
  }

  private void checkOpen() {
    if (bytes.isClosed()) {
      throw StateBackendException.closed(
          "this keyed backend is closed and cannot be used any more");
    }
  }

  @Override
  public void close() {
    Closing closing = new Closing();
    // Iterators in the user's hands first: they stand on the table.
    closing.run(states::close);
    closing.run(bytes::close);
    closing.rethrow();
  }
}
