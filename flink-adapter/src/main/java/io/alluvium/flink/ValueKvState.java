package io.alluvium.flink;

import java.io.IOException;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.internal.InternalValueState;
import org.jspecify.annotations.Nullable;

/** One value per row. Confined to the task thread. */
final class ValueKvState<K, N, V> extends KvState<K, N, V> implements InternalValueState<K, N, V> {

  ValueKvState(Access<K> access, Registration<N, V> registration) {
    super(access, registration);
  }

  @Override
  public @Nullable V value() throws IOException {
    V value = readValue();
    return value == null ? defaultValue() : value;
  }

  @Override
  public void update(@Nullable V value) throws IOException {
    if (value == null) {
      clear();
    } else {
      writeValue(value);
    }
  }

  @Override
  void migrate(Migration<V> formats, DataInputDeserializer in, DataOutputSerializer out)
      throws IOException {
    formats.value(in, out);
  }
}
