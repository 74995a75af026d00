package io.alluvium.internal.state;

import io.alluvium.serializer.Serializer;
import io.alluvium.state.ReducingState;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;

/** One value per row, combined with each one added. Confined to the task thread. */
final class ReducingView<V> extends StateView implements ReducingState<V> {

  private final Codec<V> values;
  private final Codec<V> results;
  private final BinaryOperator<V> function;

  ReducingView(
      StateAccess<?> access,
      String name,
      int id,
      Serializer<V> serializer,
      BinaryOperator<V> function) {
    super(access, name, id);
    this.values = values(serializer);
    this.results = Codec.ofValues(serializer, "what the function of state '" + name + "' returned");
    this.function = function;
  }

  @Override
  public @Nullable V get() {
    enter("get");
    return read(row(), values);
  }

  @Override
  public void add(V value) {
    enter("add");
    values.check(value);
    V current = read(row(), values);
    if (current == null) {
      write(value, values);
    } else {
      write(function.apply(current, value), results);
    }
  }
}
