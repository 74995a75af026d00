package io.alluvium.testkit.model;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyGroups;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreReport;
import io.alluvium.StateBackendException;
import io.alluvium.StateRegistration;
import io.alluvium.serializer.Serializer;
import io.alluvium.state.Namespaced;
import io.alluvium.state.State;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.Timer;
import io.alluvium.state.TimerQueue;
import io.alluvium.testkit.model.ModelJob.Slot;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One subtask of a {@link ModelJob}. Checkpoints are taken by the job, for all subtasks. Confined
 * to one thread.
 */
public final class ModelBackend<K> implements KeyedBackend<K> {

  private static final String NO_NAMESPACE = "(none)";

  private final ModelJob<K> job;
  private final int maxParallelism;
  private final KeyGroupRange keyGroups;
  private final KeyGroups<K> groups;
  private @Nullable K current;

  ModelBackend(ModelJob<K> job, Serializer<K> key, int maxParallelism, KeyGroupRange keyGroups) {
    this.job = job;
    this.maxParallelism = maxParallelism;
    this.keyGroups = keyGroups;
    this.groups = new KeyGroups<>(key, maxParallelism);
  }

  @Override
  public KeyGroupRange keyGroups() {
    return keyGroups;
  }

  @Override
  public int maxParallelism() {
    return maxParallelism;
  }

  @Override
  public void setCurrentKey(K key) {
    if (!keyGroups.contains(groups.of(key))) {
      throw StateBackendException.invalid("key '" + key + "' belongs to another subtask");
    }
    current = key;
  }

  @Override
  public K currentKey() {
    if (current == null) {
      throw StateBackendException.invalid("no key is selected");
    }
    return current;
  }

  @Override
  public int keyGroupOf(K key) {
    return groups.of(key);
  }

  @Override
  public <S extends State> S state(StateDescriptor<S> descriptor) {
    return cursor(descriptor, NO_NAMESPACE).view(descriptor);
  }

  @Override
  public <N, S extends State> Namespaced<N, S> state(
      StateDescriptor<S> descriptor, Serializer<N> namespace) {
    return new Spaces<>(descriptor);
  }

  private final class Spaces<N, S extends State> implements Namespaced<N, S> {
    private final StateDescriptor<S> descriptor;

    private Spaces(StateDescriptor<S> descriptor) {
      this.descriptor = descriptor;
    }

    @Override
    public S in(N namespace) {
      return cursor(descriptor, namespace).view(descriptor);
    }
  }

  private ModelStates.Cursor cursor(StateDescriptor<?> descriptor, Object namespace) {
    return new ModelStates.Cursor(
        job.slots(descriptor.name()), () -> new Slot(currentKey(), namespace));
  }

  @Override
  public <N> TimerQueue<K, N> timers(String name, Serializer<N> namespace) {
    return new Timers<>(name);
  }

  @Override
  public Stream<K> keys(State state) {
    return keysIn(((ModelStates.View) state).cursor().slots(), NO_NAMESPACE);
  }

  @Override
  @SuppressWarnings("unchecked")
  public <N> Stream<K> keys(Namespaced<N, ?> state, N namespace) {
    Spaces<N, ?> spaces = (Spaces<N, ?>) state;
    return keysIn(job.slots(spaces.descriptor.name()), namespace);
  }

  @SuppressWarnings("unchecked")
  private Stream<K> keysIn(Map<Slot, Object> slots, Object namespace) {
    return slots.keySet().stream()
        .filter(slot -> slot.namespace().equals(namespace))
        .map(slot -> (K) slot.key())
        .filter(key -> keyGroups.contains(groups.of(key)));
  }

  @Override
  public CompletableFuture<CheckpointHandle> checkpoint(long checkpointId) {
    throw new UnsupportedOperationException("a model takes checkpoints of the whole job");
  }

  @Override
  public void handOver() {}

  @Override
  public void confirm(long checkpointId) {}

  @Override
  public void abort(long checkpointId) {}

  @Override
  public void idle() {}

  @Override
  public RestoreReport restoreReport() {
    return RestoreReport.NONE;
  }

  @Override
  public List<StateRegistration> states() {
    return List.of();
  }

  @Override
  public void close() {}

  /** The timers of this subtask's key groups. */
  private final class Timers<N> implements TimerQueue<K, N> {
    private final String name;

    private Timers(String name) {
      this.name = name;
    }

    @Override
    public void register(N namespace, long timestampMillis) {
      job.timers(name).add(new Timer<>(timestampMillis, currentKey(), namespace));
    }

    @Override
    public void delete(N namespace, long timestampMillis) {
      job.timers(name).remove(new Timer<>(timestampMillis, currentKey(), namespace));
    }

    @Override
    @SuppressWarnings("unchecked")
    public @Nullable Timer<K, N> peek() {
      Set<Timer<?, ?>> timers = job.timers(name);
      Optional<Timer<K, N>> first =
          timers.stream()
              .map(timer -> (Timer<K, N>) timer)
              .filter(timer -> keyGroups.contains(groups.of(timer.key())))
              .min(Comparator.comparingLong(Timer::timestampMillis));
      return first.orElse(null);
    }

    @Override
    public @Nullable Timer<K, N> poll() {
      Timer<K, N> first = peek();
      if (first != null) {
        job.timers(name).remove(first);
      }
      return first;
    }

    @Override
    public boolean isEmpty() {
      return peek() == null;
    }
  }
}
