package io.alluvium.flink;

import io.alluvium.spi.KeyLayout;
import io.alluvium.spi.ListOperands;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.FullSnapshotResources;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyValueStateIterator;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.StateSnapshotTransformer;
import org.apache.flink.runtime.state.StreamCompressionDecorator;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.jspecify.annotations.Nullable;

/**
 * The table as Flink's portable savepoints want it: one pass over a scan, each key translated from
 * core's layout into Flink's. Made on the task thread; then used by one thread, closed by any.
 */
final class CanonicalSavepoint<K> implements FullSnapshotResources<K> {

  /**
   * What a savepoint is made of.
   *
   * @param states in table order
   */
  record Source<K>(
      KeyGroupRange keyGroups,
      int numberOfKeyGroups,
      TypeSerializer<K> keySerializer,
      List<StateCatalog.Entry> states,
      StreamCompressionDecorator compression) {}

  private final Source<K> source;
  private final GuardedScan scan;
  private final List<StateMetaInfoSnapshot> snapshots;
  private final List<StateOut> states = new ArrayList<>();
  private final Runnable onRelease;

  /**
   * @param scan over the whole table; owned
   */
  CanonicalSavepoint(Source<K> source, GuardedScan scan, Runnable onRelease) {
    this.source = source;
    this.scan = scan;
    this.onRelease = onRelease;
    this.snapshots = StateCatalog.snapshots(source.states());
    for (StateCatalog.Entry entry : source.states()) {
      states.add(new StateOut(entry, source.keySerializer()));
    }
  }

  @Override
  public List<StateMetaInfoSnapshot> getMetaInfoSnapshots() {
    return snapshots;
  }

  @Override
  public KeyValueStateIterator createKVStateIterator() throws IOException {
    return new Entries();
  }

  @Override
  public KeyGroupRange getKeyGroupRange() {
    return source.keyGroups();
  }

  @Override
  public TypeSerializer<K> getKeySerializer() {
    return source.keySerializer();
  }

  @Override
  public StreamCompressionDecorator getStreamCompressionDecorator() {
    return source.compression();
  }

  @Override
  public void release() {
    scan.close();
    onRelease.run();
  }

  /** How the entries of one state are written. */
  private static final class StateOut {
    final byte[] idBytes;
    final boolean queue;
    final boolean list;
    final boolean ambiguous;
    final @Nullable StateSnapshotTransformer<byte[]> transformer;

    StateOut(StateCatalog.Entry entry, TypeSerializer<?> keySerializer) {
      idBytes = entry.idBytes;
      queue = entry.isQueue();
      list = entry.isList();
      if (entry.info instanceof RegisteredKeyValueStateBackendMetaInfo<?, ?> info) {
        ambiguous =
            CompositeKeySerializationUtils.isAmbiguousKeyPossible(
                keySerializer, info.getNamespaceSerializer());
        transformer =
            info.getStateSnapshotTransformFactory().createForSerializedState().orElse(null);
      } else {
        ambiguous = false;
        transformer = null;
      }
    }
  }

  /** The entries, with what Flink asks about their borders. Confined to one thread. */
  private final class Entries implements KeyValueStateIterator {

    private final int prefixBytes =
        CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix(
            source.numberOfKeyGroups());
    private final DataOutputSerializer out = new DataOutputSerializer(128);
    private final ListOperands operands = new ListOperands();
    private boolean valid;
    private boolean newKeyGroup;
    private boolean newState;
    private int keyGroup = -1;
    private int state;
    private byte[] key = new byte[0];
    private byte[] value = new byte[0];

    Entries() throws IOException {
      next();
      newKeyGroup = false;
      newState = false;
    }

    @Override
    public void next() throws IOException {
      int keyGroupBefore = keyGroup;
      int stateBefore = state;
      do {
        valid = scan.next();
      } while (valid && !read());
      newKeyGroup = keyGroup != keyGroupBefore;
      newState = newKeyGroup || state != stateBefore;
    }

    /** Translates the entry that the scan stands at; false when it is left out. */
    private boolean read() throws IOException {
      byte[] stored = scan.key();
      int length = scan.keyLength();
      int group = KeyLayout.keyGroup(stored, 0);
      int at = stateAt(stored, length, group == keyGroup ? state : 0);
      if (at < 0) {
        // A state that a later version dropped from its registrations; nobody can read it.
        return false;
      }
      StateOut kind = states.get(at);
      byte[] newValue = value(kind);
      if (newValue == null) {
        return false;
      }
      value = newValue;
      key = key(kind, stored, length, group);
      keyGroup = group;
      state = at;
      return true;
    }

    private int stateAt(byte[] stored, int length, int from) {
      for (int i = from; i < states.size(); i++) {
        byte[] id = states.get(i).idBytes;
        int offset = KeyLayout.KEY_GROUP_BYTES;
        if (length >= offset + id.length
            && Arrays.equals(stored, offset, offset + id.length, id, 0, id.length)) {
          return i;
        }
      }
      return -1;
    }

    private byte @Nullable [] value(StateOut kind) throws IOException {
      byte[] stored;
      if (kind.list) {
        out.clear();
        Lists.join(operands, scan.value(), scan.valueLength(), out);
        stored = out.getCopyOfBuffer();
      } else {
        stored = Arrays.copyOf(scan.value(), scan.valueLength());
      }
      return kind.transformer == null ? stored : kind.transformer.filterOrTransform(stored);
    }

    private byte[] key(StateOut kind, byte[] stored, int length, int group) throws IOException {
      out.clear();
      CompositeKeySerializationUtils.writeKeyGroup(group, prefixBytes, out);
      int at = KeyLayout.KEY_GROUP_BYTES + kind.idBytes.length;
      if (kind.queue) {
        at += 2;
        out.write(stored, at, length - at);
        return out.getCopyOfBuffer();
      }
      at = part(kind, stored, at);
      at = part(kind, stored, at);
      out.write(stored, at, length - at);
      return out.getCopyOfBuffer();
    }

    /** Copies a key or a namespace, whose length stands before it here and behind it there. */
    private int part(StateOut kind, byte[] stored, int offset) throws IOException {
      int at = offset;
      int length = 0;
      int shift = 0;
      byte b;
      do {
        b = stored[at++];
        length |= (b & 0x7f) << shift;
        shift += 7;
      } while (b < 0);
      out.write(stored, at, length);
      if (kind.ambiguous) {
        CompositeKeySerializationUtils.writeVariableIntBytes(length, out);
      }
      return at + length;
    }

    @Override
    public int keyGroup() {
      return keyGroup;
    }

    @Override
    public byte[] key() {
      return key;
    }

    @Override
    public byte[] value() {
      return value;
    }

    @Override
    public int kvStateId() {
      return state;
    }

    @Override
    public boolean isNewKeyValueState() {
      return newState;
    }

    @Override
    public boolean isNewKeyGroup() {
      return newKeyGroup;
    }

    @Override
    public boolean isValid() {
      return valid;
    }

    @Override
    public void close() {
      scan.close();
    }
  }
}
