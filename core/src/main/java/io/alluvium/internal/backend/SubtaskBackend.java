package io.alluvium.internal.backend;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreReport;
import io.alluvium.StateRegistration;
import io.alluvium.internal.arguments.Arguments;
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
 * The keyed state of one subtask: typed states over its bytes. Confined to the task thread, which
 * is checked, except {@link #confirm}, {@link #abort} and {@link #states}. The process closes the
 * bytes below on any thread.
 */
final class SubtaskBackend<K> implements KeyedBackend<K> {

  private final ByteSubtask bytes;
  private final KeyContext<K> keys;
  private final StateRegistry<K> states;
  private final TaskThread task;

  /** Owns all of them. */
  SubtaskBackend(ByteSubtask bytes, KeyContext<K> keys, StateRegistry<K> states) {
    this.bytes = bytes;
    this.keys = keys;
    this.states = states;
    this.task = keys.task();
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
    own("setCurrentKey");
    bytes.advance();
    keys.setCurrentKey(key);
  }

  @Override
  public K currentKey() {
    task.check("currentKey");
    return keys.currentKey();
  }

  @Override
  public int keyGroupOf(K key) {
    task.check("keyGroupOf");
    return keys.keyGroupOf(key);
  }

  @Override
  public <S extends State> S state(StateDescriptor<S> descriptor) {
    check("state");
    return states.state(Arguments.notNull(descriptor, "descriptor"));
  }

  @Override
  public <N, S extends State> Namespaced<N, S> state(
      StateDescriptor<S> descriptor, Serializer<N> namespace) {
    check("state");
    return states.state(
        Arguments.notNull(descriptor, "descriptor"), Arguments.notNull(namespace, "namespace"));
  }

  @Override
  public <N> TimerQueue<K, N> timers(String name, Serializer<N> namespace) {
    check("timers");
    return states.timers(
        Arguments.notNull(name, "name"), Arguments.notNull(namespace, "namespace"));
  }

  @Override
  public Stream<K> keys(State state) {
    own("keys");
    return states.keys(Arguments.notNull(state, "state"));
  }

  @Override
  public <N> Stream<K> keys(Namespaced<N, ?> state, N namespace) {
    own("keys");
    return states.keys(Arguments.notNull(state, "state"), namespace);
  }

  @Override
  public CompletableFuture<CheckpointHandle> checkpoint(long checkpointId) {
    own("checkpoint");
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
    own("idle");
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

  /** Closed first: who is told that wants to know nothing else. */
  private void own(String call) {
    bytes.checkOpen();
    task.own(call);
  }

  private void check(String call) {
    bytes.checkOpen();
    task.check(call);
  }

  @Override
  public void handOver() {
    task.handOver();
  }

  @Override
  public void close() {
    if (!bytes.isClosed()) {
      task.check("close");
    }
    bytes.close();
  }
}
