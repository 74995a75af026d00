package io.alluvium.flink;

import io.alluvium.spi.TableScan;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.MapSerializer;
import org.apache.flink.api.common.typeutils.base.MapSerializerSnapshot;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.runtime.state.PriorityComparable;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.RegisteredPriorityQueueStateBackendMetaInfo;
import org.apache.flink.runtime.state.StateSnapshotTransformer.StateSnapshotTransformFactory;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueElement;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.FlinkRuntimeException;
import org.apache.flink.util.StateMigrationException;

/**
 * Gives states and queues to whoever registers them, and reconciles their serializers with those
 * that were restored. Confined to the task thread.
 */
final class StateRegistrar<K> {

  /** Whether a registration may be followed by one with another serializer. */
  enum Upgrades {
    FINAL,
    /** Flink's own changelog registers what it restored, before the user does. */
    ALLOWED
  }

  private final Access<K> access;
  private final StateCatalog states;
  private final TtlTimeProvider time;
  private final Sweeper sweeper;

  StateRegistrar(Access<K> access, StateCatalog states, TtlTimeProvider time, Sweeper sweeper) {
    this.access = access;
    this.states = states;
    this.time = time;
    this.sweeper = sweeper;
  }

  <N, SV, SEV, S extends State> KvState<K, N, ?> state(
      TypeSerializer<N> namespaceSerializer,
      StateDescriptor<S, SV> descriptor,
      StateSnapshotTransformFactory<SEV> transformers,
      Upgrades upgrades)
      throws Exception {
    StateCatalog.Entry entry = states.get(descriptor.getName());
    if (entry != null && entry.view instanceof KvState<?, ?, ?> known) {
      // What was found of it was found in the format that it had.
      sweeper.stop(known);
    }
    RegisteredKeyValueStateBackendMetaInfo<N, SV> info;
    if (entry == null) {
      info =
          new RegisteredKeyValueStateBackendMetaInfo<>(
              descriptor.getType(),
              descriptor.getName(),
              namespaceSerializer,
              descriptor.getSerializer());
      if (upgrades == Upgrades.ALLOWED) {
        info = info.withSerializerUpgradesAllowed();
      }
      entry = states.add(info, StateCatalog.Origin.NEW);
    } else {
      info = reconcile(entry, namespaceSerializer, descriptor);
      if (upgrades == Upgrades.ALLOWED) {
        info = info.withSerializerUpgradesAllowed();
      }
      entry.info = info;
    }
    info.updateSnapshotTransformFactory(
        Transformers.serialized(descriptor, transformers, info.getStateSerializer()));
    KvState<K, N, ?> view = view(entry, new Registration<>(descriptor, entry.idBytes, info));
    Expiry expiry = Expiry.of(descriptor);
    if (expiry != null) {
      sweeper.start(view, expiry);
    }
    return view;
  }

  @SuppressWarnings("unchecked") // a state of the same name has compatible types or is refused
  private <N, SV> RegisteredKeyValueStateBackendMetaInfo<N, SV> reconcile(
      StateCatalog.Entry entry,
      TypeSerializer<N> namespaceSerializer,
      StateDescriptor<?, SV> descriptor)
      throws Exception {
    if (!(entry.info instanceof RegisteredKeyValueStateBackendMetaInfo<?, ?>)) {
      throw new StateMigrationException(
          "'" + entry.name + "' is a timer queue and cannot be used as a state.");
    }
    RegisteredKeyValueStateBackendMetaInfo<N, SV> info =
        (RegisteredKeyValueStateBackendMetaInfo<N, SV>) entry.info;
    TypeSerializer<N> previousNamespaces = info.getNamespaceSerializer();
    TypeSerializerSchemaCompatibility<N> namespaces =
        info.updateNamespaceSerializer(namespaceSerializer);
    if (namespaces.isCompatibleAfterMigration() || namespaces.isIncompatible()) {
      throw new StateMigrationException(
          "The new namespace serializer ("
              + namespaceSerializer
              + ") must be compatible with the old namespace serializer ("
              + previousNamespaces
              + ").");
    }
    info.checkStateMetaInfo(descriptor);
    TypeSerializer<SV> previous = info.getStateSerializer();
    TypeSerializerSchemaCompatibility<SV> values =
        info.updateStateSerializer(descriptor.getSerializer());
    if (values.isCompatibleAfterMigration()) {
      migrate(entry, descriptor, info);
    } else if (values.isIncompatible()) {
      throw new StateMigrationException(
          "The new state serializer ("
              + descriptor.getSerializer()
              + ") must not be incompatible with the old state serializer ("
              + previous
              + ").");
    }
    return info;
  }

  private <N, SV> void migrate(
      StateCatalog.Entry entry,
      StateDescriptor<?, SV> descriptor,
      RegisteredKeyValueStateBackendMetaInfo<N, SV> info)
      throws Exception {
    if (descriptor.getType() == StateDescriptor.Type.MAP) {
      checkMapKeys(info);
    }
    KvState<K, N, SV> view = cast(view(entry, new Registration<>(descriptor, entry.idBytes, info)));
    Migration<SV> formats =
        new Migration<>(info.getPreviousStateSerializer(), info.getStateSerializer(), time);
    DataInputDeserializer in = new DataInputDeserializer();
    DataOutputSerializer out = new DataOutputSerializer(512);
    for (int group = access.bytes.keyGroups().from();
        group < access.bytes.keyGroups().to();
        group++) {
      byte[] prefix = RowWalk.prefix(group, entry.idBytes);
      try (TableScan scan = access.bytes.scan(prefix, prefix.length)) {
        while (scan.next()) {
          in.setBuffer(scan.value(), 0, scan.valueLength());
          out.clear();
          view.migrate(formats, in, out);
          access.bytes.put(
              Arrays.copyOf(scan.key(), scan.keyLength()),
              scan.keyLength(),
              out.getSharedBuffer(),
              out.length());
        }
      } catch (IOException e) {
        throw new StateMigrationException(
            "Error while trying to migrate state '" + entry.name + "'.", e);
      }
    }
  }

  @SuppressWarnings("unchecked") // the view was made of this very registration
  private static <K, N, SV> KvState<K, N, SV> cast(KvState<K, N, ?> view) {
    return (KvState<K, N, SV>) view;
  }

  /** User keys are part of keys, which are never rewritten. */
  private static <N, SV> void checkMapKeys(RegisteredKeyValueStateBackendMetaInfo<N, SV> info)
      throws StateMigrationException {
    TypeSerializerSnapshot<SV> written = info.getPreviousStateSerializerSnapshot();
    if (!(written instanceof MapSerializerSnapshot<?, ?> map)
        || !(info.getStateSerializer() instanceof MapSerializer<?, ?> serializer)
        || !isSame(serializer.getKeySerializer(), map.getKeySerializerSnapshot())) {
      throw new StateMigrationException(
          "The new serializer for a MapState requires state migration in order for the job to"
              + " proceed, since the key schema has changed. However, migration for MapState"
              + " currently only allows value schema evolutions.");
    }
  }

  @SuppressWarnings("unchecked") // answers only whether the types fit
  private static <T> boolean isSame(
      TypeSerializer<T> serializer, TypeSerializerSnapshot<?> written) {
    return serializer
        .snapshotConfiguration()
        .resolveSchemaCompatibility((TypeSerializerSnapshot<T>) written)
        .isCompatibleAsIs();
  }

  @SuppressWarnings("unchecked") // kinds are told apart by the descriptor's type
  private <N, SV> KvState<K, N, ?> view(
      StateCatalog.Entry entry, Registration<N, SV> registration) {
    if (entry.view instanceof KvState<?, ?, ?> known) {
      KvState<K, N, SV> view = (KvState<K, N, SV>) known;
      view.update(registration);
      updateFunction(view, registration.descriptor());
      return view;
    }
    KvState<K, N, ?> view =
        switch (registration.descriptor().getType()) {
          case VALUE -> new ValueKvState<>(access, registration);
          case LIST ->
              new ListKvState<>(
                  access, (Registration<N, List<Object>>) (Registration<N, ?>) registration);
          case MAP ->
              new MapKvState<>(
                  access, (Registration<N, Map<Object, Object>>) (Registration<N, ?>) registration);
          case REDUCING ->
              new ReducingKvState<>(
                  access,
                  registration,
                  ((ReducingStateDescriptor<SV>) registration.descriptor()).getReduceFunction());
          case AGGREGATING ->
              new AggregatingKvState<>(
                  access,
                  registration,
                  ((AggregatingStateDescriptor<Object, SV, Object>) registration.descriptor())
                      .getAggregateFunction());
          default ->
              throw new FlinkRuntimeException(
                  "State "
                      + registration.descriptor().getClass()
                      + " is not supported by Alluvium");
        };
    entry.view = view;
    return view;
  }

  @SuppressWarnings("unchecked") // as above
  private static <SV> void updateFunction(
      KvState<?, ?, SV> view, StateDescriptor<?, SV> descriptor) {
    if (view instanceof ReducingKvState<?, ?, SV> reducing) {
      reducing.setFunction(((ReducingStateDescriptor<SV>) descriptor).getReduceFunction());
    } else if (view instanceof AggregatingKvState<?, ?, ?, SV, ?> aggregating) {
      ((AggregatingKvState<?, ?, Object, SV, Object>) aggregating)
          .setFunction(
              ((AggregatingStateDescriptor<Object, SV, Object>) descriptor).getAggregateFunction());
    }
  }

  @SuppressWarnings("unchecked") // a queue of the same name has compatible elements or is refused
  <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
      KeyGroupedInternalPriorityQueue<T> queue(
          String name, TypeSerializer<T> serializer, Upgrades upgrades) {
    RegisteredPriorityQueueStateBackendMetaInfo<T> info =
        new RegisteredPriorityQueueStateBackendMetaInfo<>(name, serializer);
    if (upgrades == Upgrades.ALLOWED) {
      info = info.withSerializerUpgradesAllowed();
    }
    StateCatalog.Entry entry = states.get(name);
    if (entry == null) {
      entry = states.add(info, StateCatalog.Origin.NEW);
    } else {
      checkElements(entry, serializer);
      entry.info = info;
    }
    if (entry.view instanceof Timers<?> known) {
      Timers<T> timers = (Timers<T>) known;
      timers.setSerializer(serializer);
      return timers.queue();
    }
    Timers<T> timers = new Timers<>(access.bytes, access.numberOfKeyGroups, entry, serializer);
    entry.view = timers;
    return timers.queue();
  }

  @SuppressWarnings("unchecked") // as above
  private static <T> void checkElements(StateCatalog.Entry entry, TypeSerializer<T> serializer) {
    if (!(entry.info instanceof RegisteredPriorityQueueStateBackendMetaInfo<?>)) {
      throw new FlinkRuntimeException(
          new StateMigrationException(
              "'" + entry.name + "' is a state and cannot be used as a timer queue."));
    }
    RegisteredPriorityQueueStateBackendMetaInfo<T> known =
        (RegisteredPriorityQueueStateBackendMetaInfo<T>) entry.info;
    // Elements are part of keys, which are never rewritten.
    if (known.updateElementSerializer(serializer).isIncompatible()) {
      throw new FlinkRuntimeException(
          new StateMigrationException(
              "The new priority queue serializer must not be incompatible."));
    }
  }
}
