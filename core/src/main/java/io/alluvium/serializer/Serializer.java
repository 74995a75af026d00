package io.alluvium.serializer;

import java.util.Optional;

/**
 * Turns values of one type into bytes and back. Users may implement it for their own types; the
 * built-in ones are in {@link Serializers}.
 *
 * <p>Must be thread-safe: one instance serves every subtask of a process. Equal keys must give
 * equal bytes, because state is addressed by the bytes of its key. Values are never {@code null}.
 */
public interface Serializer<T> {

  void write(T value, ByteWriter out);

  /** Reads one value and leaves {@code in} after its last byte. */
  T read(ByteReader in);

  /**
   * Whether equal values always have equal bytes. Keys, namespaces and user keys of maps require
   * this, because state is addressed by these bytes. False for collections without a fixed order.
   */
  default boolean isDeterministic() {
    return true;
  }

  /** Describes the format that {@link #write} produces; stored with the state. */
  SerializerSnapshot snapshot();

  /**
   * Finds the serializer that reads values of a format written earlier.
   *
   * @return this serializer if it reads the format directly; another one if the state must be
   *     migrated (each value is read by the other serializer and written by this one, at
   *     registration); empty if the format cannot be read (registration then fails with {@code
   *     INCOMPATIBLE}, naming the state, the old and the new format)
   */
  default Optional<Serializer<T>> readerOf(SerializerSnapshot written) {
    return written.equals(snapshot()) ? Optional.of(this) : Optional.empty();
  }
}
