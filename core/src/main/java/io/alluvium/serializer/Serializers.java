package io.alluvium.serializer;

import io.alluvium.internal.arguments.Arguments;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * The built-in serializers. Their formats are stable: every later version reads the values of an
 * earlier one.
 *
 * <p>Numbers, instants and durations are stored so that the order of the bytes is the order of the
 * values; a map state with such user keys iterates in their order. All but {@link #map} and {@link
 * #set} may be used for keys.
 */
public final class Serializers {

  private Serializers() {}

  /**
   * Strings of any content: length in bytes, then UTF-8. An unpaired surrogate is stored as three
   * bytes and restored.
   */
  public static Serializer<String> string() {
    return StringSerializer.INSTANCE;
  }

  public static Serializer<Boolean> bool() {
    return SimpleSerializers.BOOL;
  }

  public static Serializer<Byte> int8() {
    return SimpleSerializers.INT8;
  }

  /** Two bytes; reads {@link #int8()} by migration. */
  public static Serializer<Short> int16() {
    return SimpleSerializers.INT16;
  }

  /** Four bytes; reads {@link #int16()} by migration. */
  public static Serializer<Integer> int32() {
    return SimpleSerializers.INT32;
  }

  /** Eight bytes; reads {@link #int32()} by migration. */
  public static Serializer<Long> int64() {
    return SimpleSerializers.INT64;
  }

  /** Four bytes; every NaN is stored as the same NaN. */
  public static Serializer<Float> float32() {
    return SimpleSerializers.FLOAT32;
  }

  /** Eight bytes; every NaN is stored as the same NaN. Reads {@link #float32()} by migration. */
  public static Serializer<Double> float64() {
    return SimpleSerializers.FLOAT64;
  }

  /** One UTF-16 unit. */
  public static Serializer<Character> character() {
    return SimpleSerializers.CHARACTER;
  }

  /** Length, then the bytes. */
  public static Serializer<byte[]> bytes() {
    return SimpleSerializers.BYTES;
  }

  public static Serializer<UUID> uuid() {
    return SimpleSerializers.UUIDS;
  }

  /** Seconds and nanoseconds, the whole range. */
  public static Serializer<Instant> instant() {
    return SimpleSerializers.INSTANT;
  }

  /** Seconds and nanoseconds, the whole range. */
  public static Serializer<Duration> duration() {
    return SimpleSerializers.DURATION;
  }

  public static Serializer<BigInteger> bigInteger() {
    return SimpleSerializers.BIG_INTEGER;
  }

  /** Scale and unscaled value: 1.0 and 1.00 differ, as they do in {@code equals}. */
  public static Serializer<BigDecimal> bigDecimal() {
    return SimpleSerializers.BIG_DECIMAL;
  }

  /** Lists; read as an {@code ArrayList}. */
  public static <E> Serializer<List<E>> list(Serializer<E> element) {
    return new ListSerializer<>(Arguments.notNull(element, "element"));
  }

  /** Sets; the iteration order is stored and restored. Not for keys. */
  public static <E> Serializer<Set<E>> set(Serializer<E> element) {
    return new SetSerializer<>(Arguments.notNull(element, "element"));
  }

  /** Maps; the iteration order is stored and restored. Not for keys. */
  public static <K, V> Serializer<Map<K, V>> map(Serializer<K> key, Serializer<V> value) {
    return new MapSerializer<>(Arguments.notNull(key, "key"), Arguments.notNull(value, "value"));
  }

  public static <A, B> Serializer<Pair<A, B>> pair(Serializer<A> first, Serializer<B> second) {
    return new PairSerializer<>(
        Arguments.notNull(first, "first"), Arguments.notNull(second, "second"));
  }

  public static <E> Serializer<Optional<E>> optional(Serializer<E> value) {
    return new OptionalSerializer<>(Arguments.notNull(value, "value"));
  }

  /**
   * The constants of an enum. The schema holds their names. Constants may be added and reordered;
   * values are then migrated, unless all new constants are at the end. Removing or renaming a
   * constant is {@code INCOMPATIBLE}.
   */
  public static <E extends Enum<E>> Serializer<E> enumOf(Class<E> type) {
    return EnumSerializer.of(Arguments.notNull(type, "type"));
  }

  /**
   * A record. Its components may have types with a built-in serializer, enums, other records, and
   * {@code List}, {@code Set}, {@code Map}, {@code Optional} and {@link Pair} of these.
   *
   * <p>The schema holds the components' names and formats. A state is migrated if:
   *
   * <ul>
   *   <li>components are reordered,
   *   <li>a changed component's serializer reads the old format,
   *   <li>a component of a built-in format is removed,
   *   <li>a component of type {@code Optional} is added (empty in old values).
   * </ul>
   *
   * <p>Adding any other component is {@code INCOMPATIBLE}, because old values have no value for it.
   * So is adding and removing components at once, because that may be a renaming.
   */
  public static <R extends Record> Serializer<R> record(Class<R> type) {
    return record(type, Map.of());
  }

  /**
   * Like {@link #record(Class)}, with serializers for component types that have no built-in one.
   *
   * @param others by class of the component; also found inside lists, maps and other records
   */
  public static <R extends Record> Serializer<R> record(
      Class<R> type, Map<Class<?>, Serializer<?>> others) {
    Arguments.check(type, "type");
    Arguments.check(others, "others");
    return new ComponentTypes(others).record(type);
  }
}
