package io.alluvium.flink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.DoneFuture;
import org.apache.flink.runtime.state.InternalKeyContext;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.runtime.state.KeyedBackendSerializationProxy;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.PriorityComparable;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.SavepointResources;
import org.apache.flink.runtime.state.SnapshotExecutionType;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategyRunner;
import org.apache.flink.runtime.state.StateBackend.KeyedStateBackendParameters;
import org.apache.flink.runtime.state.StateSnapshotTransformer.StateSnapshotTransformFactory;
import org.apache.flink.runtime.state.StreamCompressionDecorator;
import org.apache.flink.runtime.state.UncompressedStreamCompressionDecorator;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueElement;
import org.jspecify.annotations.Nullable;

/**
 * The keyed state of one subtask in Flink: translates Flink's states, timers and snapshots into the
 * bytes and checkpoints of core. Confined to the task thread, except {@link #close} and the
 * asynchronous part of a snapshot.
 */
final class AlluviumKeyedStateBackend<K> extends AbstractKeyedStateBackend<K> {

  /**
   * What Flink's side needs.
   *
   * @param savepoints whether portable savepoints are written beside the task
   */
  record Flink<K>(
      KeyedStateBackendParameters<K> parameters,
      KeyedBackendBuilder.Tracking tracking,
      InternalKeyContext<K> keyContext,
      StreamCompressionDecorator compression,
      SnapshotExecutionType savepoints,
      EndOfTask endOfTask,
      Sweeper sweeper) {}

  private final Access<K> access;
  private final StateCatalog states;
  private final StateRegistrar<K> registrar;
  private final Snapshots snapshots;
  private final Collection<AutoCloseable> opened;
  private final SnapshotExecutionType savepointType;
  private final Set<GuardedScan> savepoints = ConcurrentHashMap.newKeySet();
  private final EndOfTask endOfTask;
  private final Sweeper sweeper;
  private final AtomicBoolean disposed = new AtomicBoolean();

  /**
   * @param opened what the backend stands on, in the order of closing; owned
   */
  AlluviumKeyedStateBackend(
      Flink<K> flink,
      Access<K> access,
      StateCatalog states,
      Snapshots snapshots,
      Collection<AutoCloseable> opened) {
    super(
        flink.parameters().getKvStateRegistry(),
        access.keySerializer,
        flink.parameters().getEnv().getUserCodeClassLoader().asClassLoader(),
        flink.parameters().getEnv().getExecutionConfig(),
        flink.parameters().getTtlTimeProvider(),
        flink.tracking().latency(),
        flink.tracking().size(),
        // The one of the parameters is closed as soon as the task runs.
        new CloseableRegistry(),
        flink.compression(),
        flink.keyContext());
    this.access = access;
    this.states = states;
    this.registrar =
        new StateRegistrar<>(
            access, states, flink.parameters().getTtlTimeProvider(), flink.sweeper());
    this.snapshots = snapshots;
    this.opened = opened;
    this.savepointType = flink.savepoints();
    this.endOfTask = flink.endOfTask();
    this.sweeper = flink.sweeper();
  }

  @Override
  public void setCurrentKey(K newKey) {
    super.setCurrentKey(newKey);
    access.select(getCurrentKey(), getCurrentKeyGroupIndex());
  }

  @Override
  public void setCurrentKeyAndKeyGroup(K newKey, int newKeyGroupIndex) {
    super.setCurrentKeyAndKeyGroup(newKey, newKeyGroupIndex);
    access.select(getCurrentKey(), getCurrentKeyGroupIndex());
  }

  @Override
  @SuppressWarnings("TypeParameterUnusedInFormals") // Flink's signature
  public <N, SV, SEV, S extends State, IS extends S> IS createOrUpdateInternalState(
      TypeSerializer<N> namespaceSerializer,
      StateDescriptor<S, SV> stateDesc,
      StateSnapshotTransformFactory<SEV> snapshotTransformFactory)
      throws Exception {
    return createOrUpdateInternalState(
        namespaceSerializer, stateDesc, snapshotTransformFactory, false);
  }

  @Override
  // The signature is Flink's; the descriptor's type tells the kind of state.
  @SuppressWarnings({"TypeParameterUnusedInFormals", "unchecked"})
  public <N, SV, SEV, S extends State, IS extends S> IS createOrUpdateInternalState(
      TypeSerializer<N> namespaceSerializer,
      StateDescriptor<S, SV> stateDesc,
      StateSnapshotTransformFactory<SEV> snapshotTransformFactory,
      boolean allowFutureMetadataUpdates)
      throws Exception {
    return (IS)
        registrar.state(
            namespaceSerializer,
            stateDesc,
            snapshotTransformFactory,
            upgrades(allowFutureMetadataUpdates));
  }

  private static StateRegistrar.Upgrades upgrades(boolean allowed) {
    return allowed ? StateRegistrar.Upgrades.ALLOWED : StateRegistrar.Upgrades.FINAL;
  }

  @Override
  public <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
      KeyGroupedInternalPriorityQueue<T> create(
          String stateName, TypeSerializer<T> byteOrderedElementSerializer) {
    return create(stateName, byteOrderedElementSerializer, false);
  }

  @Override
  public <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
      KeyGroupedInternalPriorityQueue<T> create(
          String stateName,
          TypeSerializer<T> byteOrderedElementSerializer,
          boolean allowFutureMetadataUpdates) {
    return registrar.queue(
        stateName, byteOrderedElementSerializer, upgrades(allowFutureMetadataUpdates));
  }

  @Override
  public <N> Stream<K> getKeys(String state, N namespace) {
    StateCatalog.Entry entry = states.get(state);
    byte[] wanted = entry == null ? null : namespaceBytes(entry, namespace);
    return entry == null || wanted == null
        ? Stream.empty()
        : rows(entry, row -> row.isIn(wanted) ? key(entry, row) : null);
  }

  @Override
  public <N> Stream<K> getKeys(List<String> stateNames, N namespace) {
    Set<Key> seen = new HashSet<>();
    List<Stream<K>> all = new ArrayList<>();
    for (String name : stateNames) {
      StateCatalog.Entry entry = states.get(name);
      byte[] wanted = entry == null ? null : namespaceBytes(entry, namespace);
      if (entry != null && wanted != null) {
        all.add(
            rows(entry, row -> row.isIn(wanted) && seen.add(Key.of(row)) ? key(entry, row) : null));
      }
    }
    return all.stream().flatMap(keys -> keys);
  }

  /** The bytes of a key, for telling which were seen. */
  private record Key(byte[] bytes) {
    static Key of(RowWalk.Row row) {
      return new Key(
          Arrays.copyOfRange(row.row(), row.keyOffset(), row.keyOffset() + row.keyLength()));
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Key key && Arrays.equals(bytes, key.bytes);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(bytes);
    }
  }

  @Override
  public <N> Stream<Tuple2<K, N>> getKeysAndNamespaces(String state) {
    StateCatalog.Entry entry = states.get(state);
    if (entry == null
        || !(entry.info instanceof RegisteredKeyValueStateBackendMetaInfo<?, ?> info)) {
      return Stream.empty();
    }
    @SuppressWarnings("unchecked") // the caller knows the state's namespaces
    TypeSerializer<N> namespaces = (TypeSerializer<N>) info.getNamespaceSerializer();
    return rows(
        entry,
        row ->
            Tuple2.of(
                key(entry, row),
                Rows.read(
                    namespaces,
                    row.row(),
                    row.namespaceOffset(),
                    row.namespaceLength(),
                    entry.name)));
  }

  private <T> Stream<T> rows(StateCatalog.Entry entry, Function<RowWalk.Row, @Nullable T> part) {
    RowWalk walk = new RowWalk(access.bytes, entry.idBytes);
    return Stream.iterate(walk.next(), Objects::nonNull, row -> walk.next())
        .map(part)
        .filter(Objects::nonNull);
  }

  private K key(StateCatalog.Entry entry, RowWalk.Row row) {
    return Rows.read(access.keySerializer, row.row(), row.keyOffset(), row.keyLength(), entry.name);
  }

  @SuppressWarnings("unchecked") // the caller knows the state's namespaces
  private static <N> byte @Nullable [] namespaceBytes(StateCatalog.Entry entry, N namespace) {
    if (!(entry.info instanceof RegisteredKeyValueStateBackendMetaInfo<?, ?> info)) {
      return null;
    }
    try {
      DataOutputSerializer out = new DataOutputSerializer(16);
      ((TypeSerializer<N>) info.getNamespaceSerializer()).serialize(namespace, out);
      return out.getCopyOfBuffer();
    } catch (IOException e) {
      throw Failures.serializing("a namespace of state '" + entry.name + "'", e);
    }
  }

  @Override
  public int numKeyValueStateEntries() {
    int count = 0;
    for (StateCatalog.Entry entry : states.inTableOrder()) {
      if (!entry.isQueue()) {
        count += Entries.count(access.bytes, entry.idBytes);
      }
    }
    return count;
  }

  @Override
  public RunnableFuture<SnapshotResult<KeyedStateHandle>> snapshot(
      long checkpointId,
      long timestamp,
      CheckpointStreamFactory streamFactory,
      CheckpointOptions checkpointOptions)
      throws Exception {
    if (states.isEmpty()) {
      return DoneFuture.of(SnapshotResult.empty());
    }
    sweeper.catchUp();
    return new SnapshotStrategyRunner<>(
            "Alluvium snapshot",
            snapshots.strategy(checkpointOptions, this::described),
            cancelStreamRegistry,
            SnapshotExecutionType.ASYNCHRONOUS)
        .snapshot(checkpointId, timestamp, streamFactory, checkpointOptions);
  }

  private KeyedBackendSerializationProxy<K> described() {
    return new KeyedBackendSerializationProxy<>(
        keySerializer,
        StateCatalog.snapshots(states.inTableOrder()),
        !Objects.equals(
            UncompressedStreamCompressionDecorator.INSTANCE, keyGroupCompressionDecorator));
  }

  @Override
  public SavepointResources<K> savepoint() {
    GuardedScan scan = new GuardedScan(access.bytes.scan(new byte[0], 0));
    savepoints.add(scan);
    return new SavepointResources<>(
        new CanonicalSavepoint<>(
            new CanonicalSavepoint.Source<>(
                keyGroupRange,
                numberOfKeyGroups,
                keySerializer,
                states.inTableOrder(),
                keyGroupCompressionDecorator),
            scan,
            () -> savepoints.remove(scan)),
        savepointType);
  }

  @Override
  public void notifyCheckpointComplete(long checkpointId) {
    snapshots.completed(checkpointId);
  }

  @Override
  public void notifyCheckpointAborted(long checkpointId) {
    snapshots.aborted(checkpointId);
  }

  @Override
  public boolean isSafeToReuseKVState() {
    return true;
  }

  @Override
  public String getBackendTypeIdentifier() {
    return "alluvium";
  }

  /**
   * The task is about to end: nothing is stored any more. Comes from any thread. What the task may
   * still be using goes with {@link #dispose}, or at the end of the task: Flink's adaptor for
   * asynchronous state never disposes of the backend below it.
   */
  @Override
  public void close() throws IOException {
    super.close();
    sweeper.close();
    snapshots.close();
    endOfTask.run(this::dispose);
  }

  /** Frees everything; idempotent. */
  @Override
  public void dispose() {
    if (disposed.getAndSet(true)) {
      return;
    }
    super.dispose();
    sweeper.close();
    savepoints.forEach(GuardedScan::close);
    states.clear();
    KeyedBackendBuilder.closeAll(opened);
  }
}
