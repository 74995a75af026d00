package io.alluvium.serializer;

import io.alluvium.StateBackendException;
import io.alluvium.internal.arguments.Arguments;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Writes the components of a record in the order of their declaration. Reflection is used only at
 * construction; reads and writes use method handles. The schema is: class name, count, then name
 * and snapshot of each component. The class name is only for messages. As thread-safe as the
 * components' serializers.
 */
final class RecordSerializer<R extends Record> implements Serializer<R> {

  static final String ID = "record";

  /** One component of a record in a schema. */
  record Field(String name, SerializerSnapshot format) {}

  private final Class<R> type;
  private final Component[] components;
  private final MethodHandle constructor;
  private final SerializerSnapshot snapshot;

  private record Component(
      String name, Class<?> type, MethodHandle accessor, Serializer<Object> serializer) {}

  /**
   * @param serializers of the components, in order
   */
  @SuppressWarnings("unchecked") // each reads and writes what its component holds
  RecordSerializer(Class<R> type, List<Serializer<?>> serializers) {
    this.type = type;
    RecordComponent[] declared = type.getRecordComponents();
    Class<?>[] types = new Class<?>[declared.length];
    this.components = new Component[declared.length];
    ByteWriter schema = new ByteWriter();
    schema.writeString(type.getName());
    schema.writeVarInt(declared.length);
    MethodHandles.Lookup lookup = MethodHandles.lookup();
    try {
      for (int i = 0; i < declared.length; i++) {
        types[i] = declared[i].getType();
        Serializer<Object> serializer = (Serializer<Object>) serializers.get(i);
        Method accessor = declared[i].getAccessor();
        accessor.setAccessible(true);
        components[i] =
            new Component(
                declared[i].getName(),
                types[i],
                lookup
                    .unreflect(accessor)
                    .asType(MethodType.methodType(Object.class, Object.class)),
                serializer);
        schema.writeString(declared[i].getName());
        Arguments.snapshotOf(serializer, "a component of " + type.getName()).write(schema);
      }
      Constructor<R> canonical = type.getDeclaredConstructor(types);
      canonical.setAccessible(true);
      this.constructor =
          lookup
              .unreflectConstructor(canonical)
              .asSpreader(Object[].class, types.length)
              .asType(MethodType.methodType(Object.class, Object[].class));
    } catch (ReflectiveOperationException | InaccessibleObjectException e) {
      throw StateBackendException.of(
          StateBackendException.Kind.INVALID,
          "record "
              + type.getName()
              + " is not accessible; open its package to module io.alluvium.core, or write a"
              + " Serializer for it",
          e);
    }
    this.snapshot = new SerializerSnapshot(ID, 1, schema.toByteArray());
  }

  @Override
  public void write(R value, ByteWriter out) {
    for (Component component : components) {
      component.serializer.write(componentOf(value, component), out);
    }
  }

  private Object componentOf(Object value, Component component) {
    Object part;
    try {
      part = (Object) component.accessor.invokeExact(value);
    } catch (Throwable e) {
      throw rethrow(e);
    }
    if (part == null) {
      throw StateBackendException.invalid(
          "component '"
              + component.name
              + "' of record "
              + type.getName()
              + " is null; declare it as an Optional");
    }
    return part;
  }

  @Override
  public R read(ByteReader in) {
    Object[] values = new Object[components.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = components[i].serializer.read(in);
    }
    return construct(values);
  }

  private R construct(Object[] values) {
    try {
      return type.cast((Object) constructor.invokeExact(values));
    } catch (Throwable e) {
      throw rethrow(e);
    }
  }

  /** Rethrows an exception of the record's own code. */
  private RuntimeException rethrow(Throwable e) {
    if (e instanceof Error error) {
      throw error;
    }
    if (e instanceof RuntimeException unchecked) {
      throw unchecked;
    }
    return StateBackendException.of(
        StateBackendException.Kind.INTERNAL, "record " + type.getName() + " failed", e);
  }

  @Override
  public boolean isDeterministic() {
    return Arrays.stream(components).allMatch(part -> part.serializer.isDeterministic());
  }

  @Override
  public SerializerSnapshot snapshot() {
    return snapshot;
  }

  static List<Field> fieldsOf(SerializerSnapshot written) {
    ByteReader schema = new ByteReader(written.schema());
    schema.skip(schema.readVarInt());
    int count = CompositeSerializer.readCount(schema);
    List<Field> fields = new ArrayList<>(CompositeSerializer.capacity(count, schema));
    for (int i = 0; i < count; i++) {
      fields.add(new Field(schema.readString(), SerializerSnapshot.read(schema)));
    }
    return fields;
  }

  @Override
  public Optional<Serializer<R>> readerOf(SerializerSnapshot written) {
    if (!written.id().equals(ID) || written.version() != snapshot.version()) {
      return Optional.empty();
    }
    List<Step> steps = new ArrayList<>();
    boolean[] read = new boolean[components.length];
    boolean removed = false;
    for (Field field : fieldsOf(written)) {
      Optional<Step> step = step(field);
      if (step.isEmpty()) {
        return Optional.empty();
      }
      steps.add(step.get());
      if (step.get().index < 0) {
        removed = true;
      } else {
        read[step.get().index] = true;
      }
    }
    Object[] defaults = new Object[components.length];
    for (int i = 0; i < components.length; i++) {
      if (!read[i]) {
        // A removal together with an addition may be a renaming, which would silently lose old
        // values.
        if (removed || components[i].type != Optional.class) {
          return Optional.empty();
        }
        defaults[i] = Optional.empty();
      }
    }
    return Optional.of(
        isDeclaration(steps) ? this : new Older(written, steps.toArray(Step[]::new), defaults));
  }

  /**
   * How to read one component of an older value.
   *
   * @param index position in the current record; -1 to skip the component
   */
  private record Step(int index, Serializer<?> reader) {}

  private Optional<Step> step(Field field) {
    for (int i = 0; i < components.length; i++) {
      if (components[i].name.equals(field.name)) {
        int index = i;
        return components[i].serializer.readerOf(field.format).map(r -> new Step(index, r));
      }
    }
    return Skipping.reader(field.format).map(reader -> new Step(-1, reader));
  }

  private boolean isDeclaration(List<Step> steps) {
    if (steps.size() != components.length) {
      return false;
    }
    for (int i = 0; i < components.length; i++) {
      if (steps.get(i).index != i || steps.get(i).reader != components[i].serializer) {
        return false;
      }
    }
    return true;
  }

  /** Reads values of an older schema. */
  private final class Older extends ReadOnly<R> {

    private final Step[] steps;
    private final Object[] defaults;

    Older(SerializerSnapshot written, Step[] steps, Object[] defaults) {
      super(written);
      this.steps = steps;
      this.defaults = defaults;
    }

    @Override
    public R read(ByteReader in) {
      Object[] values = Arrays.copyOf(defaults, defaults.length);
      for (Step step : steps) {
        Object value = step.reader.read(in);
        if (step.index >= 0) {
          values[step.index] = value;
        }
      }
      return construct(values);
    }
  }
}
