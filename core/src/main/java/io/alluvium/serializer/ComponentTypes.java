package io.alluvium.serializer;

import io.alluvium.StateBackendException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Finds the serializers of a record's components by their declared types. Used for one record;
 * confined to one thread.
 */
final class ComponentTypes {

  private static final Map<Class<?>, Serializer<?>> BUILT_IN =
      Map.ofEntries(
          Map.entry(String.class, Serializers.string()),
          Map.entry(boolean.class, Serializers.bool()),
          Map.entry(Boolean.class, Serializers.bool()),
          Map.entry(byte.class, Serializers.int8()),
          Map.entry(Byte.class, Serializers.int8()),
          Map.entry(short.class, Serializers.int16()),
          Map.entry(Short.class, Serializers.int16()),
          Map.entry(int.class, Serializers.int32()),
          Map.entry(Integer.class, Serializers.int32()),
          Map.entry(long.class, Serializers.int64()),
          Map.entry(Long.class, Serializers.int64()),
          Map.entry(float.class, Serializers.float32()),
          Map.entry(Float.class, Serializers.float32()),
          Map.entry(double.class, Serializers.float64()),
          Map.entry(Double.class, Serializers.float64()),
          Map.entry(char.class, Serializers.character()),
          Map.entry(Character.class, Serializers.character()),
          Map.entry(byte[].class, Serializers.bytes()),
          Map.entry(UUID.class, Serializers.uuid()),
          Map.entry(Instant.class, Serializers.instant()),
          Map.entry(Duration.class, Serializers.duration()),
          Map.entry(BigInteger.class, Serializers.bigInteger()),
          Map.entry(BigDecimal.class, Serializers.bigDecimal()));

  private final Map<Class<?>, Serializer<?>> others;

  /** The records that enclose the current component, outermost first. */
  private final Deque<Class<?>> path = new ArrayDeque<>();

  ComponentTypes(Map<Class<?>, Serializer<?>> others) {
    this.others = Map.copyOf(others);
  }

  <R extends Record> Serializer<R> record(Class<R> type) {
    return record(type, Map.of());
  }

  private <R extends Record> Serializer<R> record(
      Class<R> type, Map<TypeVariable<?>, Serializer<?>> bindings) {
    if (path.contains(type)) {
      throw StateBackendException.invalid(
          "record "
              + type.getName()
              + " contains itself; write a Serializer for it and pass it to Serializers.record(type, others)");
    }
    RecordComponent[] components = type.getRecordComponents();
    if (components.length == 0) {
      throw StateBackendException.invalid(
          "record " + type.getName() + " has no components, so there is nothing to store");
    }
    path.addLast(type);
    List<Serializer<?>> serializers = new ArrayList<>();
    for (RecordComponent component : components) {
      Serializer<?> serializer = find(component.getGenericType(), bindings);
      if (serializer == null) {
        throw StateBackendException.invalid(
            "component '"
                + component.getName()
                + "' of record "
                + type.getName()
                + " has type "
                + component.getGenericType().getTypeName()
                + ", which has no built-in serializer; pass one to Serializers.record(type, others)");
      }
      serializers.add(serializer);
    }
    path.removeLast();
    return new RecordSerializer<>(type, serializers);
  }

  private @Nullable Serializer<?> find(Type type, Map<TypeVariable<?>, Serializer<?>> bindings) {
    if (type instanceof Class<?> plain) {
      return plain(plain);
    }
    if (type instanceof ParameterizedType generic) {
      return generic(generic, bindings);
    }
    if (type instanceof WildcardType wildcard) {
      return find(wildcard.getUpperBounds()[0], bindings);
    }
    if (type instanceof TypeVariable<?> variable) {
      return bindings.get(variable);
    }
    return null;
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // the class is an enum or a record
  private @Nullable Serializer<?> plain(Class<?> type) {
    Serializer<?> other = others.get(type);
    if (other != null) {
      return other;
    }
    Serializer<?> builtIn = BUILT_IN.get(type);
    if (builtIn != null) {
      return builtIn;
    }
    if (type.isEnum()) {
      return EnumSerializer.of((Class) type);
    }
    return type.isRecord() ? record((Class) type, Map.of()) : null;
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // the raw class is a record
  private @Nullable Serializer<?> generic(
      ParameterizedType type, Map<TypeVariable<?>, Serializer<?>> bindings) {
    Class<?> raw = (Class<?>) type.getRawType();
    Serializer<?> other = others.get(raw);
    if (other != null) {
      return other;
    }
    Type[] arguments = type.getActualTypeArguments();
    List<Serializer<?>> parts = new ArrayList<>();
    for (Type argument : arguments) {
      Serializer<?> part = find(argument, bindings);
      if (part == null) {
        return null;
      }
      parts.add(part);
    }
    if (raw == List.class) {
      return Serializers.list(parts.get(0));
    } else if (raw == Set.class) {
      return Serializers.set(parts.get(0));
    } else if (raw == Optional.class) {
      return Serializers.optional(parts.get(0));
    } else if (raw == Map.class) {
      return Serializers.map(parts.get(0), parts.get(1));
    } else if (raw == Pair.class) {
      return Serializers.pair(parts.get(0), parts.get(1));
    } else if (!raw.isRecord()) {
      return null;
    }
    Map<TypeVariable<?>, Serializer<?>> inner = new HashMap<>();
    for (int i = 0; i < arguments.length; i++) {
      inner.put(raw.getTypeParameters()[i], parts.get(i));
    }
    return record((Class) raw, inner);
  }
}
