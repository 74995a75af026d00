package io.alluvium.flink;

import io.alluvium.spi.TableScan;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.MapSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.queryablestate.client.state.serialization.KvStateSerializer;
import org.apache.flink.runtime.state.internal.InternalMapState;
import org.jspecify.annotations.Nullable;

/**
 * A map per row: each entry is a key of the table that ends in the user key; its value starts with
 * a byte that says whether it is null. Confined to the task thread.
 */
final class MapKvState<K, N, UK, UV> extends KvState<K, N, Map<UK, UV>>
    implements InternalMapState<K, N, UK, UV> {

  /**
   * Up to this many entries are cleared by single deletions; more by a range deletion, which is one
   * change but slows RocksDB's later reads.
   */
  private static final int SINGLE_DELETES = 64;

  MapKvState(Access<K> access, Registration<N, Map<UK, UV>> registration) {
    super(access, registration);
  }

  private MapSerializer<UK, UV> serializer() {
    return (MapSerializer<UK, UV>) valueSerializer;
  }

  @Override
  public @Nullable UV get(UK userKey) throws IOException {
    DataInputDeserializer in = access.open(entry(userKey));
    return in == null ? null : readUserValue(in, serializer().getValueSerializer());
  }

  static <UV> @Nullable UV readUserValue(DataInputDeserializer in, TypeSerializer<UV> serializer)
      throws IOException {
    return in.readBoolean() ? null : serializer.deserialize(in);
  }

  @Override
  public void put(UK userKey, @Nullable UV userValue) throws IOException {
    access.put(entry(userKey), encode(userValue));
  }

  private DataOutputSerializer encode(@Nullable UV userValue) throws IOException {
    DataOutputSerializer out = access.clearValue();
    out.writeBoolean(userValue == null);
    if (userValue != null) {
      serializer().getValueSerializer().serialize(userValue, out);
    }
    return out;
  }

  /** Replaces the value of an entry, by its key in the table. */
  void putAt(byte[] key, @Nullable UV userValue) throws IOException {
    DataOutputSerializer out = encode(userValue);
    access.bytes.put(key, key.length, out.getSharedBuffer(), out.length());
  }

  @Override
  public void putAll(@Nullable Map<UK, UV> map) throws IOException {
    if (map != null) {
      for (Map.Entry<UK, UV> entry : map.entrySet()) {
        put(entry.getKey(), entry.getValue());
      }
    }
  }

  @Override
  public void remove(UK userKey) throws IOException {
    access.delete(entry(userKey));
  }

  @Override
  public boolean contains(UK userKey) throws IOException {
    return access.read(entry(userKey)) != null;
  }

  private DataOutputSerializer entry(UK userKey) throws IOException {
    DataOutputSerializer key = row();
    serializer().getKeySerializer().serialize(userKey, key);
    return key;
  }

  @Override
  public boolean isEmpty() {
    try (TableScan scan = access.scan(row())) {
      return !scan.next();
    }
  }

  @Override
  public Iterable<Map.Entry<UK, UV>> entries() {
    return this::iterator;
  }

  @Override
  public Iterable<UK> keys() {
    return () -> walk(MapEntry::getKey);
  }

  @Override
  public Iterable<UV> values() {
    return () -> walk(MapEntry::getValue);
  }

  @Override
  public Iterator<Map.Entry<UK, UV>> iterator() {
    return walk(entry -> entry);
  }

  private <T> Iterator<T> walk(Function<MapEntry<UK, UV>, T> part) {
    return new MapIterator<>(this, Access.copy(row()), part);
  }

  MapEntry<UK, UV> entryAt(byte[] key, byte[] value, int rowLength) {
    return new MapEntry<>(this, key, value, rowLength, serializer());
  }

  @Override
  public void clear() {
    clearAt(Access.copy(row()));
  }

  @Override
  void clearAt(byte[] row) {
    List<byte[]> keys = new ArrayList<>();
    boolean many;
    try (TableScan scan = access.bytes.scan(row, row.length)) {
      many = scan.next();
      while (many && keys.size() < SINGLE_DELETES) {
        keys.add(Arrays.copyOf(scan.key(), scan.keyLength()));
        many = scan.next();
      }
    }
    if (many) {
      access.bytes.deleteRange(row, row.length);
    } else {
      for (byte[] key : keys) {
        access.bytes.delete(key, key.length);
      }
    }
  }

  @Override
  public byte @Nullable [] getSerializedValue(
      byte[] serializedKeyAndNamespace,
      TypeSerializer<K> safeKeySerializer,
      TypeSerializer<N> safeNamespaceSerializer,
      TypeSerializer<Map<UK, UV>> safeValueSerializer)
      throws Exception {
    byte[] row = row(serializedKeyAndNamespace, safeKeySerializer, safeNamespaceSerializer);
    MapSerializer<UK, UV> serializer = (MapSerializer<UK, UV>) safeValueSerializer;
    List<Map.Entry<UK, UV>> entries = access.queries.answer(() -> entries(row, serializer));
    return entries.isEmpty()
        ? null
        : KvStateSerializer.serializeMap(
            entries, serializer.getKeySerializer(), serializer.getValueSerializer());
  }

  private List<Map.Entry<UK, UV>> entries(byte[] row, MapSerializer<UK, UV> serializer) {
    List<Map.Entry<UK, UV>> entries = new ArrayList<>();
    try (TableScan scan = access.bytes.scan(row, row.length)) {
      while (scan.next()) {
        entries.add(
            new MapEntry<>(
                this,
                Arrays.copyOf(scan.key(), scan.keyLength()),
                Arrays.copyOf(scan.value(), scan.valueLength()),
                row.length,
                serializer));
      }
    }
    return entries;
  }

  @Override
  @Nullable Map<UK, UV> valueAt(byte[] row) {
    Map<UK, UV> map = new LinkedHashMap<>();
    Iterator<MapEntry<UK, UV>> entries = new MapIterator<>(this, row, entry -> entry);
    while (entries.hasNext()) {
      MapEntry<UK, UV> entry = entries.next();
      map.put(entry.getKey(), entry.getValue());
    }
    return map.isEmpty() ? null : map;
  }

  /** By difference: entries that are gone are deleted, those that are other objects are written. */
  @Override
  void replaceAt(byte[] row, Map<UK, UV> before, Map<UK, UV> newValue) throws IOException {
    // A map that was changed in place tells no difference.
    boolean inPlace = newValue == before;
    if (inPlace) {
      clearAt(row);
    }
    DataOutputSerializer key = new DataOutputSerializer(row.length + 32);
    for (UK userKey : before.keySet()) {
      if (!newValue.containsKey(userKey)) {
        access.delete(entry(row, userKey, key));
      }
    }
    for (Map.Entry<UK, UV> entry : newValue.entrySet()) {
      UK userKey = entry.getKey();
      UV value = entry.getValue();
      if (inPlace || value != before.get(userKey) || !before.containsKey(userKey)) {
        access.put(entry(row, userKey, key), encode(value));
      }
    }
  }

  private DataOutputSerializer entry(byte[] row, UK userKey, DataOutputSerializer key)
      throws IOException {
    key.clear();
    key.write(row);
    serializer().getKeySerializer().serialize(userKey, key);
    return key;
  }

  @Override
  void migrate(Migration<Map<UK, UV>> formats, DataInputDeserializer in, DataOutputSerializer out)
      throws IOException {
    formats.mapValue(in, out);
  }
}
