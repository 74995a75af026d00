package io.alluvium.flink;

import java.io.IOException;
import java.util.Collection;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.internal.InternalAggregatingState;
import org.jspecify.annotations.Nullable;

/** One accumulator per row. Confined to the task thread. */
final class AggregatingKvState<K, N, IN, ACC, OUT> extends KvState<K, N, ACC>
    implements InternalAggregatingState<K, N, IN, ACC, OUT> {

  private AggregateFunction<IN, ACC, OUT> function;

  AggregatingKvState(
      Access<K> access,
      Registration<N, ACC> registration,
      AggregateFunction<IN, ACC, OUT> function) {
    super(access, registration);
    this.function = function;
  }

  void setFunction(AggregateFunction<IN, ACC, OUT> newFunction) {
    function = newFunction;
  }

  @Override
  public @Nullable OUT get() throws IOException {
    ACC accumulator = readValue();
    return accumulator == null ? null : function.getResult(accumulator);
  }

  @Override
  public @Nullable ACC getInternal() throws IOException {
    return readValue();
  }

  @Override
  public void updateInternal(ACC accumulator) throws IOException {
    writeValue(accumulator);
  }

  @Override
  public void add(IN value) throws IOException {
    ACC accumulator = readValue();
    writeValue(
        function.add(value, accumulator == null ? function.createAccumulator() : accumulator));
  }

  @Override
  public void mergeNamespaces(N target, @Nullable Collection<N> sources) throws IOException {
    if (sources == null || sources.isEmpty()) {
      return;
    }
    ACC merged = null;
    for (N source : sources) {
      if (source != null) {
        setCurrentNamespace(source);
        ACC accumulator = readValue();
        if (accumulator != null) {
          clear();
          merged = merged == null ? accumulator : function.merge(merged, accumulator);
        }
      }
    }
    setCurrentNamespace(target);
    if (merged != null) {
      ACC accumulator = readValue();
      writeValue(accumulator == null ? merged : function.merge(accumulator, merged));
    }
  }

  @Override
  void migrate(Migration<ACC> formats, DataInputDeserializer in, DataOutputSerializer out)
      throws IOException {
    formats.value(in, out);
  }
}
