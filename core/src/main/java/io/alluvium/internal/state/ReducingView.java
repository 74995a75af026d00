package io.alluvium.internal.state;

import io.alluvium.serializer.Serializer;
import io.alluvium.state.ReducingState;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;

/** One value per row, combined with each one added. Confined to the task thread. */
final class ReducingView<V> extends StateView implements ReducingState<V> {

  private final Serializer<V> serializer;
  private final BinaryOperator<V> function;

  ReducingView(
      StateAccess<?> access,
      String name,
      int id,
      Serializer<V> serializer,
      BinaryOperator<V> function) {
    super(access, name, id);
    this.serializer = serializer;
    this.function = function;
  }

  @Override
  public @Nullable V get() {
    return read(row(), serializer);
  }

  @Override
  public void add(V value) {
    V current = read(row(), serializer);
    write(current == null ? value : function.apply(current, value), serializer);
  }
}
