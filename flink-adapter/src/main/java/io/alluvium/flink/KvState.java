package io.alluvium.flink;

import io.alluvium.serializer.ByteWriter;
import java.io.IOException;
import java.util.Arrays;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.queryablestate.client.state.serialization.KvStateSerializer;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.internal.InternalKvState;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.jspecify.annotations.Nullable;

/**
 * A state at the current key and namespace: what the kinds have in common. Confined to the task
 * thread, except {@link #getSerializedValue}.
 *
 * @param <V> what Flink calls the state's value: the list, the map, the accumulator
 */
abstract class KvState<K, N, V> implements InternalKvState<K, N, V> {

  final Access<K> access;
  final String name;
  final byte[] id;
  private final DataOutputSerializer namespaceBytes = new DataOutputSerializer(16);
  private @Nullable N namespace;
  TypeSerializer<N> namespaceSerializer;
  TypeSerializer<V> valueSerializer;
  private @Nullable V defaultValue;
  private boolean visited;

  KvState(Access<K> access, Registration<N, V> registration) {
    this.access = access;
    this.name = registration.name();
    this.id = registration.idBytes();
    this.namespaceSerializer = registration.info().getNamespaceSerializer();
    this.valueSerializer = registration.info().getStateSerializer();
    this.defaultValue = registration.defaultValue();
    this.visited = Expiry.isVisited(registration.descriptor().getTtlConfig());
  }

  /** The state was registered again. */
  void update(Registration<N, V> registration) {
    namespaceSerializer = registration.info().getNamespaceSerializer();
    valueSerializer = registration.info().getStateSerializer();
    defaultValue = registration.defaultValue();
    visited = Expiry.isVisited(registration.descriptor().getTtlConfig());
    namespace = null;
  }

  @Override
  public TypeSerializer<K> getKeySerializer() {
    return access.keySerializer;
  }

  @Override
  public TypeSerializer<N> getNamespaceSerializer() {
    return namespaceSerializer;
  }

  @Override
  public TypeSerializer<V> getValueSerializer() {
    return valueSerializer;
  }

  @Override
  public void setCurrentNamespace(N newNamespace) {
    // The one namespace of most states need not be serialized again; any other may have changed.
    if (newNamespace == namespace && newNamespace == VoidNamespace.INSTANCE) {
      return;
    }
    namespace = null;
    namespaceBytes.clear();
    try {
      namespaceSerializer.serialize(newNamespace, namespaceBytes);
    } catch (IOException e) {
      throw Failures.serializing("a namespace of state '" + name + "'", e);
    }
    namespace = newNamespace;
  }

  @Nullable N namespace() {
    return namespace;
  }

  /** The shared key buffer, filled up to the end of the row. */
  final DataOutputSerializer row() {
    if (namespace == null) {
      throw new NullPointerException(
          "No namespace of state '" + name + "' is set; setCurrentNamespace comes first.");
    }
    try {
      DataOutputSerializer row = access.startRow(id);
      Rows.writePart(row, namespaceBytes);
      return row;
    } catch (IOException e) {
      throw Failures.serializing("a row of state '" + name + "'", e);
    }
  }

  final @Nullable V defaultValue() {
    return defaultValue == null ? null : valueSerializer.copy(defaultValue);
  }

  /** The value at the current row; null when there is none. */
  final @Nullable V readValue() throws IOException {
    DataInputDeserializer in = access.open(row());
    return in == null ? null : valueSerializer.deserialize(in);
  }

  final void writeValue(V newValue) throws IOException {
    DataOutputSerializer out = access.clearValue();
    valueSerializer.serialize(newValue, out);
    access.put(row(), out);
  }

  /** Removes what one key holds; a kind with more keys in a row overrides it. */
  @Override
  public void clear() {
    access.delete(row());
  }

  /** The value at a row that a walk gave; null when it went away meanwhile. */
  @Nullable V valueAt(byte[] row) throws IOException {
    ByteWriter stored = access.read(row, row.length);
    if (stored == null) {
      return null;
    }
    access.in.setBuffer(stored.array(), 0, stored.length());
    return valueSerializer.deserialize(access.in);
  }

  /** Replaces the value at a row that a walk gave, which was {@code before}. */
  void replaceAt(byte[] row, V before, V newValue) throws IOException {
    DataOutputSerializer out = access.clearValue();
    valueSerializer.serialize(newValue, out);
    access.bytes.put(row, row.length, out.getSharedBuffer(), out.length());
  }

  /** Removes what a row that a walk gave holds. */
  void clearAt(byte[] row) {
    access.bytes.delete(row, row.length);
  }

  /**
   * Removes what a key of the table holds, if that is expired now; of a list, the elements that
   * are.
   *
   * @return whether anything was expired
   */
  boolean removeExpired(byte[] key, Expiry expiry, TtlTimeProvider time) throws IOException {
    ByteWriter stored = access.read(key, key.length);
    if (stored == null
        || !expiry.isExpired(stored.array(), stored.length(), time.currentTimestamp())) {
      return false;
    }
    access.bytes.delete(key, key.length);
    return true;
  }

  /** Any thread, with serializers of its own; buffers are the call's own, too. */
  @Override
  public byte @Nullable [] getSerializedValue(
      byte[] serializedKeyAndNamespace,
      TypeSerializer<K> safeKeySerializer,
      TypeSerializer<N> safeNamespaceSerializer,
      TypeSerializer<V> safeValueSerializer)
      throws Exception {
    byte[] row = row(serializedKeyAndNamespace, safeKeySerializer, safeNamespaceSerializer);
    ByteWriter stored = new ByteWriter();
    return access.queries.answer(() -> access.bytes.get(row, row.length, stored))
        ? queryable(Arrays.copyOf(stored.array(), stored.length()))
        : null;
  }

  /** A stored value in the form that a query expects. */
  byte[] queryable(byte[] stored) throws IOException {
    return stored;
  }

  final byte[] row(
      byte[] serializedKeyAndNamespace,
      TypeSerializer<K> safeKeySerializer,
      TypeSerializer<N> safeNamespaceSerializer)
      throws IOException {
    Tuple2<K, N> wanted =
        KvStateSerializer.deserializeKeyAndNamespace(
            serializedKeyAndNamespace, safeKeySerializer, safeNamespaceSerializer);
    DataOutputSerializer part = new DataOutputSerializer(64);
    DataOutputSerializer row = new DataOutputSerializer(64);
    row.writeShort(KeyGroupRangeAssignment.assignToKeyGroup(wanted.f0, access.numberOfKeyGroups));
    row.write(id);
    safeKeySerializer.serialize(wanted.f0, part);
    Rows.writePart(row, part);
    part.clear();
    safeNamespaceSerializer.serialize(wanted.f1, part);
    Rows.writePart(row, part);
    return row.getCopyOfBuffer();
  }

  /** Writes a stored value again in another format; see {@link Migration}. */
  abstract void migrate(Migration<V> formats, DataInputDeserializer in, DataOutputSerializer out)
      throws IOException;

  /** Flink asks for it at every access of a state that gives one; see {@link Expiry#isVisited}. */
  @Override
  public StateIncrementalVisitor<K, N, V> getStateIncrementalVisitor(
      int recommendedMaxNumberOfReturnedRecords) {
    if (!visited) {
      throw new UnsupportedOperationException(
          "state '" + name + "' is cleaned up beside the task, not at each access");
    }
    return new Visitor<>(this, recommendedMaxNumberOfReturnedRecords);
  }
}
