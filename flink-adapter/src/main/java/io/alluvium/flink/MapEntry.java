package io.alluvium.flink;

import java.io.IOException;
import java.util.Map;
import java.util.Objects;
import org.apache.flink.api.common.typeutils.base.MapSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.jspecify.annotations.Nullable;

/** An entry of a map state, deserialized when it is asked for. Confined to the task thread. */
final class MapEntry<UK, UV> implements Map.Entry<UK, UV> {

  private final MapKvState<?, ?, UK, UV> state;
  private final byte[] key;
  private byte @Nullable [] value;
  private final int rowLength;
  private final MapSerializer<UK, UV> serializer;
  private @Nullable UK userKey;
  private @Nullable UV userValue;

  /** It may be null by itself. */
  private boolean holdsUserValue;

  MapEntry(
      MapKvState<?, ?, UK, UV> state,
      byte[] key,
      byte[] value,
      int rowLength,
      MapSerializer<UK, UV> serializer) {
    this.state = state;
    this.key = key;
    this.value = value;
    this.rowLength = rowLength;
    this.serializer = serializer;
  }

  /** Its key in the table. */
  byte[] key() {
    return key;
  }

  @Override
  public UK getKey() {
    UK known = userKey;
    if (known == null) {
      try {
        known =
            serializer
                .getKeySerializer()
                .deserialize(new DataInputDeserializer(key, rowLength, key.length - rowLength));
      } catch (IOException e) {
        throw Failures.deserializing("a user key of state '" + state.name + "'", e);
      }
      userKey = known;
    }
    return known;
  }

  @Override
  @SuppressWarnings("NullAway") // a map state may hold null
  public UV getValue() {
    byte[] stored = value;
    if (!holdsUserValue && stored != null) {
      try {
        userValue =
            MapKvState.readUserValue(
                new DataInputDeserializer(stored), serializer.getValueSerializer());
      } catch (IOException e) {
        throw Failures.deserializing("a value of state '" + state.name + "'", e);
      }
      holdsUserValue = true;
    }
    return userValue;
  }

  @Override
  @SuppressWarnings("NullAway") // as above
  public UV setValue(UV newValue) {
    if (value == null) {
      throw new IllegalStateException("The value has already been deleted.");
    }
    UV before = getValue();
    try {
      state.putAt(key, newValue);
    } catch (IOException e) {
      throw Failures.serializing("a value of state '" + state.name + "'", e);
    }
    userValue = newValue;
    holdsUserValue = true;
    return before;
  }

  boolean isRemoved() {
    return value == null;
  }

  void remove() {
    value = null;
    userValue = null;
    state.access.bytes.delete(key, key.length);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Map.Entry<?, ?> entry
        && Objects.equals(getKey(), entry.getKey())
        && Objects.equals(getValue(), entry.getValue());
  }

  @Override
  public int hashCode() {
    return Objects.hashCode(getKey()) ^ Objects.hashCode(getValue());
  }
}
