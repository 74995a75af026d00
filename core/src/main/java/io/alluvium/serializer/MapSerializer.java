package io.alluvium.serializer;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Count, then each key followed by its value. As thread-safe as its parts. */
final class MapSerializer<K, V> extends CompositeSerializer<Map<K, V>> {

  private final Serializer<K> keys;
  private final Serializer<V> values;

  MapSerializer(Serializer<K> keys, Serializer<V> values) {
    super("map", keys, values);
    this.keys = keys;
    this.values = values;
  }

  @Override
  @SuppressWarnings("unchecked") // readers of the parts' own types
  Serializer<Map<K, V>> over(List<Serializer<?>> newParts) {
    return new MapSerializer<>((Serializer<K>) newParts.get(0), (Serializer<V>) newParts.get(1));
  }

  /** False: equal maps may iterate in different orders. */
  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public void write(Map<K, V> value, ByteWriter out) {
    out.writeVarInt(value.size());
    for (Map.Entry<K, V> entry : value.entrySet()) {
      keys.write(entry.getKey(), out);
      values.write(entry.getValue(), out);
    }
  }

  @Override
  public Map<K, V> read(ByteReader in) {
    int count = readCount(in);
    Map<K, V> value = new LinkedHashMap<>();
    for (int i = 0; i < count; i++) {
      K key = keys.read(in);
      value.put(key, values.read(in));
    }
    return value;
  }
}
