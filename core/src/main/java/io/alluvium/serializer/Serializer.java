package io.alluvium.serializer;

import java.util.Optional;

/**
 * Turns values of one type into bytes and back. Small enough to be written by hand for a user's own
 * type; the built-in ones are in {@link Serializers}.
 *
 * <p>Stateless or safe to use from several threads: one instance serves every subtask of a process.
 * Equal keys must give equal bytes, because state is addressed by the bytes of its key. Values are
 * never {@code null}.
 */
public interface Serializer<T> {

  void write(T value, ByteWriter out);

  /** Reads one value and leaves {@code in} behind its last byte. */
  T read(ByteReader in);

  /**
   * Whether equal values always have equal bytes, as keys, namespaces and user keys of maps must:
   * state is found by the bytes of its address. False for collections that iterate in any order.
   */
  default boolean isDeterministic() {
    return true;
  }

  /** Describes the format that {@link #write} produces; stored with the state. */
  SerializerSnapshot snapshot();

  /**
   * How this serializer meets values that were written in another format.
   *
   * @return this serializer when it reads them as they are; another one when they must be read by
   *     that and written anew by this (the state is migrated at registration); empty when they
   *     cannot be read (the registration fails with {@code INCOMPATIBLE}, naming the state, the old
   *     and the new format)
   */
  default Optional<Serializer<T>> readerOf(SerializerSnapshot written) {
    return written.equals(snapshot()) ? Optional.of(this) : Optional.empty();
  }
}
