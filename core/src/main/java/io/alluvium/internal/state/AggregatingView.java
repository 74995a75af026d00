package io.alluvium.internal.state;

import io.alluvium.serializer.Serializer;
import io.alluvium.state.AggregateFunction;
import io.alluvium.state.AggregatingState;
import org.jspecify.annotations.Nullable;

/** One accumulator per row. Confined to the task thread. */
final class AggregatingView<IN, ACC, OUT> extends StateView implements AggregatingState<IN, OUT> {

  private final Serializer<ACC> serializer;
  private final AggregateFunction<IN, ACC, OUT> function;

  AggregatingView(
      StateAccess<?> access,
      String name,
      int id,
      Serializer<ACC> serializer,
      AggregateFunction<IN, ACC, OUT> function) {
    super(access, name, id);
    this.serializer = serializer;
    this.function = function;
  }

  @Override
  public @Nullable OUT get() {
    ACC accumulator = read(row(), serializer);
    return accumulator == null ? null : function.result(accumulator);
  }

  @Override
  public void add(IN value) {
    ACC accumulator = read(row(), serializer);
    write(
        function.add(value, accumulator == null ? function.createAccumulator() : accumulator),
        serializer);
  }
}
