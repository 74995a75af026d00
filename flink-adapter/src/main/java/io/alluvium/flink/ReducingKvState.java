package io.alluvium.flink;

import java.io.IOException;
import java.util.Collection;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.internal.InternalReducingState;
import org.jspecify.annotations.Nullable;

/** One reduced value per row. Confined to the task thread. */
final class ReducingKvState<K, N, V> extends KvState<K, N, V>
    implements InternalReducingState<K, N, V> {

  private ReduceFunction<V> function;

  ReducingKvState(Access<K> access, Registration<N, V> registration, ReduceFunction<V> function) {
    super(access, registration);
    this.function = function;
  }

  void setFunction(ReduceFunction<V> newFunction) {
    function = newFunction;
  }

  @Override
  public @Nullable V get() throws IOException {
    return getInternal();
  }

  @Override
  public @Nullable V getInternal() throws IOException {
    return readValue();
  }

  @Override
  public void updateInternal(V value) throws IOException {
    writeValue(value);
  }

  @Override
  public void add(V value) throws Exception {
    V before = readValue();
    writeValue(before == null ? value : function.reduce(before, value));
  }

  @Override
  public void mergeNamespaces(N target, @Nullable Collection<N> sources) throws Exception {
    if (sources == null || sources.isEmpty()) {
      return;
    }
    V merged = null;
    for (N source : sources) {
      if (source != null) {
        setCurrentNamespace(source);
        V value = readValue();
        if (value != null) {
          clear();
          merged = merged == null ? value : function.reduce(merged, value);
        }
      }
    }
    setCurrentNamespace(target);
    if (merged != null) {
      V value = readValue();
      writeValue(value == null ? merged : function.reduce(value, merged));
    }
  }

  @Override
  void migrate(Migration<V> formats, DataInputDeserializer in, DataOutputSerializer out)
      throws IOException {
    formats.value(in, out);
  }
}
