package io.alluvium.state;

import io.alluvium.StateBackendException;
import io.alluvium.StateKind;
import io.alluvium.serializer.Serializer;
import java.util.List;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A user's declaration of a state: its name and formats. The type parameter is the state that
 * {@code KeyedBackend.state} returns for it. Immutable.
 */
public sealed interface StateDescriptor<S extends State> {

  String name();

  StateKind kind();

  /** Serializers of the values, as in {@code StateRegistration.values}. */
  List<Serializer<?>> serializers();

  static <V> StateDescriptor<ValueState<V>> value(String name, Serializer<V> value) {
    return new Value<>(name, value);
  }

  static <E> StateDescriptor<ListState<E>> list(String name, Serializer<E> element) {
    return new ListOf<>(name, element);
  }

  static <UK, UV> StateDescriptor<MapState<UK, UV>> map(
      String name, Serializer<UK> userKey, Serializer<UV> value) {
    return new MapOf<>(name, userKey, value);
  }

  static <V> StateDescriptor<ReducingState<V>> reducing(
      String name, Serializer<V> value, BinaryOperator<V> function) {
    return new Reducing<>(name, value, function);
  }

  static <IN, ACC, OUT> StateDescriptor<AggregatingState<IN, OUT>> aggregating(
      String name, Serializer<ACC> accumulator, AggregateFunction<IN, ACC, OUT> function) {
    return new Aggregating<>(name, accumulator, function);
  }

  private static void check(String state, @Nullable Object part, String partName) {
    if (part == null) {
      throw StateBackendException.invalid(
          "state '"
              + state
              + "' is described with a null '"
              + partName
              + "'; it needs a name, its serializers and, where it has one, its function");
    }
  }

  record Value<V>(String name, Serializer<V> value) implements StateDescriptor<ValueState<V>> {
    public Value {
      StateDescriptor.check(name, name, "name");
      StateDescriptor.check(name, value, "value");
    }

    @Override
    public StateKind kind() {
      return StateKind.VALUE;
    }

    @Override
    public List<Serializer<?>> serializers() {
      return List.of(value);
    }
  }

  record ListOf<E>(String name, Serializer<E> element) implements StateDescriptor<ListState<E>> {
    public ListOf {
      StateDescriptor.check(name, name, "name");
      StateDescriptor.check(name, element, "element");
    }

    @Override
    public StateKind kind() {
      return StateKind.LIST;
    }

    @Override
    public List<Serializer<?>> serializers() {
      return List.of(element);
    }
  }

  record MapOf<UK, UV>(String name, Serializer<UK> userKey, Serializer<UV> value)
      implements StateDescriptor<MapState<UK, UV>> {
    public MapOf {
      StateDescriptor.check(name, name, "name");
      StateDescriptor.check(name, userKey, "userKey");
      StateDescriptor.check(name, value, "value");
    }

    @Override
    public StateKind kind() {
      return StateKind.MAP;
    }

    @Override
    public List<Serializer<?>> serializers() {
      return List.of(userKey, value);
    }
  }

  record Reducing<V>(String name, Serializer<V> value, BinaryOperator<V> function)
      implements StateDescriptor<ReducingState<V>> {
    public Reducing {
      StateDescriptor.check(name, name, "name");
      StateDescriptor.check(name, value, "value");
      StateDescriptor.check(name, function, "function");
    }

    @Override
    public StateKind kind() {
      return StateKind.REDUCING;
    }

    @Override
    public List<Serializer<?>> serializers() {
      return List.of(value);
    }
  }

  record Aggregating<IN, ACC, OUT>(
      String name, Serializer<ACC> accumulator, AggregateFunction<IN, ACC, OUT> function)
      implements StateDescriptor<AggregatingState<IN, OUT>> {
    public Aggregating {
      StateDescriptor.check(name, name, "name");
      StateDescriptor.check(name, accumulator, "accumulator");
      StateDescriptor.check(name, function, "function");
    }

    @Override
    public StateKind kind() {
      return StateKind.AGGREGATING;
    }

    @Override
    public List<Serializer<?>> serializers() {
      return List.of(accumulator);
    }
  }
}
