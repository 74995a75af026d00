package io.alluvium.testkit.model;

import io.alluvium.serializer.Serializer;
import io.alluvium.state.AggregateFunction;
import io.alluvium.state.AggregatingState;
import io.alluvium.state.ListState;
import io.alluvium.state.MapState;
import io.alluvium.state.ReducingState;
import io.alluvium.state.State;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import io.alluvium.testkit.model.ModelJob.Slot;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.function.BinaryOperator;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The kinds of state over a map of immutable values. Confined to one thread. */
final class ModelStates {

  private ModelStates() {}

  /** The current position of a view: the map and the address in it. */
  record Cursor(Map<Slot, Object> slots, Supplier<Slot> slot) {

    @Nullable Object get() {
      return slots.get(slot.get());
    }

    void set(Object value) {
      slots.put(slot.get(), value);
    }

    void clear() {
      slots.remove(slot.get());
    }

    @SuppressWarnings("unchecked")
    <S extends State> S view(StateDescriptor<S> descriptor) {
      return (S) viewOf(descriptor);
    }

    private State viewOf(StateDescriptor<?> descriptor) {
      if (descriptor instanceof StateDescriptor.Value<?>) {
        return new ValueModel<>(this);
      } else if (descriptor instanceof StateDescriptor.ListOf<?>) {
        return new ListModel<>(this);
      } else if (descriptor instanceof StateDescriptor.MapOf<?, ?> map) {
        return new MapModel<>(this, map.userKey());
      } else if (descriptor instanceof StateDescriptor.Reducing<?> reducing) {
        return new ReducingModel<>(this, reducing.function());
      }
      return new AggregatingModel<>(
          this, ((StateDescriptor.Aggregating<?, ?, ?>) descriptor).function());
    }
  }

  /** A view with its position. */
  interface View {
    Cursor cursor();
  }

  @SuppressWarnings("unchecked")
  private record ValueModel<V>(Cursor cursor) implements ValueState<V>, View {
    @Override
    public @Nullable V value() {
      return (V) cursor.get();
    }

    @Override
    public void update(V value) {
      cursor.set(value);
    }

    @Override
    public void clear() {
      cursor.clear();
    }
  }

  @SuppressWarnings("unchecked")
  private record ListModel<E>(Cursor cursor) implements ListState<E>, View {
    @Override
    public List<E> get() {
      Object elements = cursor.get();
      return elements == null ? List.of() : (List<E>) elements;
    }

    @Override
    public void add(E element) {
      addAll(List.of(element));
    }

    @Override
    public void addAll(List<E> elements) {
      List<E> all = new ArrayList<>(get());
      all.addAll(elements);
      update(all);
    }

    @Override
    public void update(List<E> elements) {
      if (elements.isEmpty()) {
        clear();
      } else {
        cursor.set(List.copyOf(elements));
      }
    }

    @Override
    public void clear() {
      cursor.clear();
    }
  }

  @SuppressWarnings("unchecked")
  private record MapModel<UK, UV>(Cursor cursor, Serializer<UK> userKeys)
      implements MapState<UK, UV>, View {

    private Map<UK, UV> entries() {
      Object entries = cursor.get();
      return entries == null ? Map.of() : (Map<UK, UV>) entries;
    }

    private void set(Map<UK, UV> entries) {
      if (entries.isEmpty()) {
        clear();
      } else {
        cursor.set(entries);
      }
    }

    @Override
    public @Nullable UV get(UK userKey) {
      return entries().get(userKey);
    }

    @Override
    public void put(UK userKey, UV value) {
      putAll(Map.of(userKey, value));
    }

    @Override
    public void putAll(Map<UK, UV> more) {
      Map<UK, UV> copy = new LinkedHashMap<>(entries());
      copy.putAll(more);
      set(copy);
    }

    @Override
    public void remove(UK userKey) {
      Map<UK, UV> copy = new LinkedHashMap<>(entries());
      copy.remove(userKey);
      set(copy);
    }

    @Override
    public boolean contains(UK userKey) {
      return entries().containsKey(userKey);
    }

    @Override
    public boolean isEmpty() {
      return entries().isEmpty();
    }

    @Override
    public Iterator<Map.Entry<UK, UV>> iterator() {
      List<Map.Entry<UK, UV>> sorted = new ArrayList<>(Map.copyOf(entries()).entrySet());
      sorted.sort(
          (one, two) ->
              Arrays.compareUnsigned(
                  ModelJob.bytes(userKeys, one.getKey()), ModelJob.bytes(userKeys, two.getKey())));
      return new Removing<>(sorted.iterator(), this);
    }

    @Override
    public void clear() {
      cursor.clear();
    }
  }

  /** Iterates over a copy, but removes from the state. */
  private static final class Removing<UK, UV> implements Iterator<Map.Entry<UK, UV>> {
    private final Iterator<Map.Entry<UK, UV>> copy;
    private final MapState<UK, UV> state;
    private Map.@Nullable Entry<UK, UV> last;

    private Removing(Iterator<Map.Entry<UK, UV>> copy, MapState<UK, UV> state) {
      this.copy = copy;
      this.state = state;
    }

    @Override
    public boolean hasNext() {
      return copy.hasNext();
    }

    @Override
    public Map.Entry<UK, UV> next() {
      if (!copy.hasNext()) {
        throw new NoSuchElementException();
      }
      Map.Entry<UK, UV> next = copy.next();
      last = next;
      return next;
    }

    @Override
    public void remove() {
      state.remove(Objects.requireNonNull(last).getKey());
      last = null;
    }
  }

  @SuppressWarnings("unchecked")
  private record ReducingModel<V>(Cursor cursor, BinaryOperator<V> function)
      implements ReducingState<V>, View {
    @Override
    public @Nullable V get() {
      return (V) cursor.get();
    }

    @Override
    public void add(V value) {
      V before = get();
      cursor.set(before == null ? value : function.apply(before, value));
    }

    @Override
    public void clear() {
      cursor.clear();
    }
  }

  @SuppressWarnings("unchecked")
  private record AggregatingModel<IN, ACC, OUT>(
      Cursor cursor, AggregateFunction<IN, ACC, OUT> function)
      implements AggregatingState<IN, OUT>, View {
    @Override
    public @Nullable OUT get() {
      Object accumulator = cursor.get();
      return accumulator == null ? null : function.result((ACC) accumulator);
    }

    @Override
    public void add(IN value) {
      Object before = cursor.get();
      ACC accumulator = before == null ? function.createAccumulator() : (ACC) before;
      cursor.set(function.add(value, accumulator));
    }

    @Override
    public void clear() {
      cursor.clear();
    }
  }
}
