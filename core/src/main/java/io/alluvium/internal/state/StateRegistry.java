package io.alluvium.internal.state;

import io.alluvium.StateBackendException;
import io.alluvium.StateKind;
import io.alluvium.StateRegistration;
import io.alluvium.bytes.ByteQueue;
import io.alluvium.internal.arguments.Arguments;
import io.alluvium.internal.backend.KeyContext;
import io.alluvium.internal.backend.WritePath;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.serializer.Serializer;
import io.alluvium.serializer.SerializerSnapshot;
import io.alluvium.spi.KeyLayout;
import io.alluvium.state.Namespaced;
import io.alluvium.state.State;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.TimerQueue;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The states of one backend by name: those registered and those that a restore brought and nobody
 * asked for yet. Confined to the task thread, except {@link #registrations}.
 *
 * <p>A state's id is a hash of its name, so that the tables of different parents can be merged by
 * file; names that collide are refused.
 */
public final class StateRegistry<K> {

  private final StateAccess<K> access;
  private final NavigableMap<String, StateRegistration> registrations =
      new ConcurrentSkipListMap<>();
  private final Map<Integer, String> namesById = new HashMap<>();
  private final Map<String, Object> views = new HashMap<>();
  private @Nullable String failure;

  /**
   * @param restored registrations of all handles that were restored from; a state that several
   *     handles hold must have the same format in each
   */
  public StateRegistry(
      WritePath writePath, KeyContext<K> keyContext, List<StateRegistration> restored) {
    this.access = new StateAccess<>(writePath, keyContext);
    for (StateRegistration registration : restored) {
      if (registration.id() != KeyLayout.stateId(registration.name())) {
        throw StateBackendException.incompatible(
            "state '"
                + registration.name()
                + "' was stored under id "
                + registration.id()
                + ", this version of Alluvium uses id "
                + KeyLayout.stateId(registration.name()));
      }
      claimId(registration.name());
      StateRegistration other = registrations.putIfAbsent(registration.name(), registration);
      if (other != null && !other.equals(registration)) {
        throw StateBackendException.incompatible(
            "state '"
                + registration.name()
                + "' was stored in two formats by the subtasks of one checkpoint: "
                + describe(other)
                + " and "
                + describe(registration)
                + "; restore with the old parallelism and register the state in every subtask first");
      }
    }
  }

  private int claimId(String name) {
    int id = KeyLayout.stateId(name);
    String other = namesById.putIfAbsent(id, name);
    if (other != null && !other.equals(name)) {
      throw StateBackendException.invalid(
          "state names '" + other + "' and '" + name + "' share the id " + id + "; rename one");
    }
    return id;
  }

  /** See {@code KeyedBackend.state}. */
  @SuppressWarnings("unchecked") // the view of a descriptor implements its state
  public <S extends State> S state(StateDescriptor<S> descriptor) {
    register(descriptor.name(), descriptor.kind(), Optional.empty(), descriptor.serializers());
    Object view =
        views.computeIfAbsent(
            descriptor.name(), name -> newView(descriptor, KeyLayout.stateId(name)));
    return (S) view;
  }

  /** See {@code KeyedBackend.state}. */
  @SuppressWarnings("unchecked") // as above; equal registrations have equal namespace formats
  public <N, S extends State> Namespaced<N, S> state(
      StateDescriptor<S> descriptor, Serializer<N> namespace) {
    register(
        descriptor.name(), descriptor.kind(), Optional.of(namespace), descriptor.serializers());
    Object view =
        views.computeIfAbsent(
            descriptor.name(),
            name -> {
              StateView state = newView(descriptor, KeyLayout.stateId(name));
              return new NamespacedView<>(namespace, state, (S) state);
            });
    return (Namespaced<N, S>) view;
  }

  /** See {@code KeyedBackend.timers}. */
  @SuppressWarnings("unchecked") // equal registrations have equal namespace formats
  public <N> TimerQueue<K, N> timers(String name, Serializer<N> namespace) {
    ByteQueue.Start start =
        registrations.containsKey(name) ? ByteQueue.Start.RESTORED : ByteQueue.Start.EMPTY;
    register(name, StateKind.TIMERS, Optional.of(namespace), List.of());
    Object view =
        views.computeIfAbsent(name, unused -> new TimerView<>(access, name, namespace, start));
    return (TimerQueue<K, N>) view;
  }

  private StateView newView(StateDescriptor<?> descriptor, int id) {
    if (descriptor instanceof StateDescriptor.Value<?> value) {
      return new ValueView<>(access, value.name(), id, value.value());
    } else if (descriptor instanceof StateDescriptor.ListOf<?> list) {
      return new ListView<>(access, list.name(), id, list.element());
    } else if (descriptor instanceof StateDescriptor.MapOf<?, ?> map) {
      return new MapView<>(access, map.name(), id, map.userKey(), map.value());
    } else if (descriptor instanceof StateDescriptor.Reducing<?> reducing) {
      return reducingView(reducing, id);
    } else if (descriptor instanceof StateDescriptor.Aggregating<?, ?, ?> aggregating) {
      return aggregatingView(aggregating, id);
    }
    throw StateBackendException.internal("unknown descriptor " + descriptor);
  }

  private <V> StateView reducingView(StateDescriptor.Reducing<V> descriptor, int id) {
    return new ReducingView<>(
        access, descriptor.name(), id, descriptor.value(), descriptor.function());
  }

  private <IN, ACC, OUT> StateView aggregatingView(
      StateDescriptor.Aggregating<IN, ACC, OUT> descriptor, int id) {
    return new AggregatingView<>(
        access, descriptor.name(), id, descriptor.accumulator(), descriptor.function());
  }

  private void register(
      String name, StateKind kind, Optional<Serializer<?>> namespace, List<Serializer<?>> values) {
    access.checkOpen();
    checkSound();
    String state = (kind == StateKind.TIMERS ? "timers '" : "state '") + name + "'";
    namespace.ifPresent(
        serializer -> Codec.requireDeterministic(serializer, "a namespace of " + state));
    if (kind == StateKind.MAP) {
      Codec.requireDeterministic(values.get(0), "a user key of " + state);
    }
    int id = claimId(name);
    StateRegistration wanted =
        new StateRegistration(
            name,
            id,
            kind,
            namespace.map(Serializer::snapshot).orElse(NoNamespace.SNAPSHOT),
            values.stream().map(value -> Arguments.snapshotOf(value, state)).toList());
    StateRegistration known = registrations.get(name);
    if (known != null && !known.equals(wanted)) {
      if (views.containsKey(name)
          || known.kind() != kind
          || known.namespace().equals(NoNamespace.SNAPSHOT) != namespace.isEmpty()) {
        throw StateBackendException.incompatible(
            "state '"
                + name
                + "' is already "
                + describe(known)
                + " and cannot be used as "
                + describe(wanted)
                + "; give the new state another name");
      }
      namespace.ifPresent(serializer -> requireReadable(wanted, known, serializer));
      migrate(known, wanted, values);
    }
    registrations.put(name, wanted);
  }

  private void requireReadable(
      StateRegistration wanted, StateRegistration known, Serializer<?> namespace) {
    if (!readsAsIs(namespace, known.namespace())) {
      throw incompatible(wanted.name(), "namespaces", known.namespace(), namespace.snapshot());
    }
  }

  private static <T> boolean readsAsIs(Serializer<T> serializer, SerializerSnapshot written) {
    return Codec.readerOf(serializer, written).filter(reader -> reader == serializer).isPresent();
  }

  /** Brings restored values into the format of the given serializers. */
  private void migrate(
      StateRegistration known, StateRegistration wanted, List<Serializer<?>> values) {
    List<Serializer<?>> all = new ArrayList<>(values);
    if (known.values().size() != all.size()) {
      throw StateBackendException.corrupt(
          "state '"
              + known.name()
              + "' was stored with "
              + known.values().size()
              + " formats, a "
              + known.kind()
              + " state has "
              + all.size());
    }
    if (known.kind() == StateKind.MAP && !readsAsIs(all.get(0), known.values().get(0))) {
      throw incompatible(known.name(), "user keys", known.values().get(0), all.get(0).snapshot());
    }
    if (!all.isEmpty()) {
      int last = all.size() - 1;
      migrateValues(wanted, known.values().get(last), all.get(last));
    }
  }

  private <V> void migrateValues(
      StateRegistration wanted, SerializerSnapshot written, Serializer<V> serializer) {
    Serializer<V> reader =
        Codec.readerOf(serializer, written)
            .orElseThrow(
                () -> incompatible(wanted.name(), "values", written, serializer.snapshot()));
    if (reader == serializer) {
      return;
    }
    Migration<V> migration = new Migration<>(access, wanted, reader, serializer);
    boolean done = false;
    try {
      if (wanted.kind() == StateKind.LIST) {
        migration.migrateLists();
      } else {
        migration.migrateValues();
      }
      done = true;
    } finally {
      if (!done) {
        failure =
            "the migration of state '"
                + wanted.name()
                + "' from "
                + written
                + " to "
                + serializer.snapshot()
                + " failed half-way; no checkpoint can be taken, restore again";
      }
    }
  }

  private static StateBackendException incompatible(
      String name, String what, SerializerSnapshot written, SerializerSnapshot wanted) {
    return StateBackendException.incompatible(
        "the "
            + what
            + " of state '"
            + name
            + "' were written as "
            + written
            + " and cannot be read as "
            + wanted
            + "; use a serializer that reads the old format, or another state name");
  }

  private static String describe(StateRegistration registration) {
    return registration.kind()
        + (registration.namespace().equals(NoNamespace.SNAPSHOT)
            ? " without namespaces"
            : " with namespaces " + registration.namespace())
        + (registration.values().isEmpty() ? "" : " of " + registration.values());
  }

  /** See {@code KeyedBackend.keys}. */
  public Stream<K> keys(State state) {
    if (!(state instanceof StateView view) || views.get(view.name) != view) {
      throw StateBackendException.invalid(
          "keys(state) takes a state without namespaces of the same backend");
    }
    return StoredKeys.stream(access, view.id, new byte[0]);
  }

  /** See {@code KeyedBackend.keys}. */
  public <N> Stream<K> keys(Namespaced<N, ?> state, N namespace) {
    if (!(state instanceof NamespacedView<N, ?> namespaced)
        || views.get(namespaced.view().name) != namespaced) {
      throw StateBackendException.invalid(
          "keys(state, namespace) takes a state with namespaces of the same backend");
    }
    ByteWriter bytes = new ByteWriter();
    namespaced.namespaces().write(namespace, bytes);
    return StoredKeys.stream(access, namespaced.view().id, bytes.toByteArray());
  }

  /** Everything registered or restored, by name ascending; for checkpoints. */
  public List<StateRegistration> registrations() {
    checkSound();
    return List.copyOf(registrations.values());
  }

  private void checkSound() {
    if (failure != null) {
      throw StateBackendException.incompatible(failure);
    }
  }
}
