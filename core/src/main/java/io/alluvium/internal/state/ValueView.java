package io.alluvium.internal.state;

import io.alluvium.serializer.Serializer;
import io.alluvium.state.ValueState;
import org.jspecify.annotations.Nullable;

/** One value per row. Confined to the task thread. */
final class ValueView<V> extends StateView implements ValueState<V> {

  private final Codec<V> values;

  ValueView(StateAccess<?> access, String name, int id, Serializer<V> serializer) {
    super(access, name, id);
    this.values = values(serializer);
  }

  @Override
  public @Nullable V value() {
    enter("value");
    return read(row(), values);
  }

  @Override
  public void update(V value) {
    enter("update");
    write(value, values);
  }
}
