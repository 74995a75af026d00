package io.alluvium.internal.state;

import io.alluvium.internal.arguments.Arguments;
import io.alluvium.serializer.Serializer;
import io.alluvium.state.AggregateFunction;
import io.alluvium.state.AggregatingState;
import org.jspecify.annotations.Nullable;

/** One accumulator per row. Confined to the task thread. */
final class AggregatingView<IN, ACC, OUT> extends StateView implements AggregatingState<IN, OUT> {

  private final Codec<ACC> accumulators;
  private final AggregateFunction<IN, ACC, OUT> function;

  AggregatingView(
      StateAccess<?> access,
      String name,
      int id,
      Serializer<ACC> serializer,
      AggregateFunction<IN, ACC, OUT> function) {
    super(access, name, id);
    this.accumulators = Codec.ofValues(serializer, "the accumulator of state '" + name + "'");
    this.function = function;
  }

  @Override
  public @Nullable OUT get() {
    enter("get");
    ACC accumulator = read(row(), accumulators);
    return accumulator == null ? null : function.result(accumulator);
  }

  @Override
  public void add(IN value) {
    enter("add");
    Arguments.check(value, "value");
    ACC accumulator = read(row(), accumulators);
    write(
        function.add(value, accumulator == null ? function.createAccumulator() : accumulator),
        accumulators);
  }
}
