package io.alluvium.flink;

import io.alluvium.bytes.ByteBackend;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.StateSerializerProvider;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.runtime.state.restore.FullSnapshotRestoreOperation;
import org.apache.flink.runtime.state.restore.KeyGroup;
import org.apache.flink.runtime.state.restore.KeyGroupEntry;
import org.apache.flink.runtime.state.restore.SavepointRestoreResult;
import org.apache.flink.runtime.state.restore.ThrowingIterator;
import org.apache.flink.util.StateMigrationException;

/**
 * Loads a portable savepoint of Flink into an empty backend, each key translated into core's
 * layout. Values are not deserialized, keys and namespaces are. Used once, on the task thread.
 */
final class CanonicalRestore<K> {

  private final ByteBackend bytes;
  private final StateCatalog states;
  private final StateSerializerProvider<K> keySerializer;
  private final int prefixBytes;
  private final DataInputDeserializer in = new DataInputDeserializer();
  private final DataOutputSerializer key = new DataOutputSerializer(128);
  private final DataOutputSerializer value = new DataOutputSerializer(128);

  CanonicalRestore(
      ByteBackend bytes,
      StateCatalog states,
      StateSerializerProvider<K> keySerializer,
      int numberOfKeyGroups) {
    this.bytes = bytes;
    this.states = states;
    this.keySerializer = keySerializer;
    this.prefixBytes =
        CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix(numberOfKeyGroups);
  }

  void run(KeyGroupRange keyGroups, ClassLoader classLoader, Collection<KeyedStateHandle> handles)
      throws IOException, StateMigrationException {
    FullSnapshotRestoreOperation<K> operation =
        new FullSnapshotRestoreOperation<>(keyGroups, classLoader, handles, keySerializer);
    try (ThrowingIterator<SavepointRestoreResult> results = operation.restore()) {
      while (results.hasNext()) {
        load(results.next());
      }
    }
  }

  private void load(SavepointRestoreResult result) throws IOException, StateMigrationException {
    List<StateCatalog.Entry> entries = new ArrayList<>();
    for (StateMetaInfoSnapshot snapshot : result.getStateMetaInfoSnapshots()) {
      entries.add(states.restored(snapshot));
    }
    try (ThrowingIterator<KeyGroup> groups = result.getRestoredKeyGroups()) {
      while (groups.hasNext()) {
        KeyGroup group = groups.next();
        try (ThrowingIterator<KeyGroupEntry> rows = group.getKeyGroupEntries()) {
          while (rows.hasNext()) {
            KeyGroupEntry row = rows.next();
            load(group.getKeyGroupId(), entries.get(row.getKvStateId()), row);
          }
        }
      }
    }
  }

  private void load(int keyGroup, StateCatalog.Entry state, KeyGroupEntry row) throws IOException {
    byte[] flinkKey = row.getKey();
    key.clear();
    key.writeShort(keyGroup);
    key.write(state.idBytes);
    int at = prefixBytes;
    if (state.info instanceof RegisteredKeyValueStateBackendMetaInfo<?, ?> info) {
      TypeSerializer<?> namespaces = info.getPreviousNamespaceSerializer();
      boolean ambiguous =
          CompositeKeySerializationUtils.isAmbiguousKeyPossible(
              keySerializer.previousSchemaSerializer(), namespaces);
      at = part(keySerializer.previousSchemaSerializer(), flinkKey, at, ambiguous);
      at = part(namespaces, flinkKey, at, ambiguous);
    } else {
      key.writeShort(0);
    }
    key.write(flinkKey, at, flinkKey.length - at);
    value.clear();
    if (state.isList()) {
      Lists.writeOperand(value, Lists.LOADED_SQN, row.getValue(), row.getValue().length);
    } else {
      value.write(row.getValue());
    }
    bytes.load(key.getSharedBuffer(), key.length(), value.getSharedBuffer(), value.length());
  }

  /** Copies a key or a namespace; only its serializer knows where it ends. */
  private int part(TypeSerializer<?> serializer, byte[] flinkKey, int offset, boolean ambiguous)
      throws IOException {
    in.setBuffer(flinkKey, offset, flinkKey.length - offset);
    Object unused = serializer.deserialize(in);
    int end = in.getPosition();
    Rows.writePart(key, flinkKey, offset, end - offset);
    if (ambiguous) {
      CompositeKeySerializationUtils.readVariableIntBytes(in, end - offset);
    }
    return in.getPosition();
  }
}
