package io.alluvium.serializer;

import io.alluvium.StateBackendException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Stores an enum constant as its index in the schema, which is: class name, count, constant names.
 * Constants are matched by name; the class name is only for messages. Immutable.
 */
final class EnumSerializer<E extends Enum<E>> implements Serializer<E> {

  static final String ID = "enum";

  private final E[] constants;
  private final SerializerSnapshot snapshot;

  private EnumSerializer(Class<E> type, E[] constants) {
    this.constants = constants;
    ByteWriter schema = new ByteWriter();
    schema.writeString(type.getName());
    schema.writeVarInt(constants.length);
    for (E constant : constants) {
      schema.writeString(constant.name());
    }
    this.snapshot = new SerializerSnapshot(ID, 1, schema.toByteArray());
  }

  static <E extends Enum<E>> EnumSerializer<E> of(Class<E> type) {
    return new EnumSerializer<>(type, type.getEnumConstants());
  }

  @Override
  @SuppressWarnings("EnumOrdinal") // the schema says which constant has which number
  public void write(E value, ByteWriter out) {
    out.writeVarInt(value.ordinal());
  }

  @Override
  public E read(ByteReader in) {
    return pick(constants, in);
  }

  private static <T> T pick(T[] constants, ByteReader in) {
    int index = in.readVarInt();
    if (index < 0 || index >= constants.length) {
      throw StateBackendException.corrupt(
          "the stored number of an enum constant must lie within [0, "
              + constants.length
              + "), found "
              + Integer.toUnsignedString(index));
    }
    return constants[index];
  }

  @Override
  public SerializerSnapshot snapshot() {
    return snapshot;
  }

  /** The constant names in a schema. */
  static List<String> namesOf(SerializerSnapshot written) {
    ByteReader schema = new ByteReader(written.schema());
    schema.skip(schema.readVarInt());
    int count = CompositeSerializer.readCount(schema);
    List<String> names = new ArrayList<>(CompositeSerializer.capacity(count, schema));
    for (int i = 0; i < count; i++) {
      names.add(schema.readString());
    }
    return names;
  }

  @Override
  public Optional<Serializer<E>> readerOf(SerializerSnapshot written) {
    if (!written.id().equals(ID) || written.version() != snapshot.version()) {
      return Optional.empty();
    }
    Map<String, E> byName = new HashMap<>();
    for (E constant : constants) {
      byName.put(constant.name(), constant);
    }
    List<String> names = namesOf(written);
    if (!byName.keySet().containsAll(names)) {
      return Optional.empty();
    }
    E[] then = Arrays.copyOf(constants, names.size());
    boolean same = true;
    for (int i = 0; i < then.length; i++) {
      then[i] = byName.get(names.get(i));
      same &= then[i] == constants[i];
    }
    return Optional.of(same ? this : new Reordered<>(then, written));
  }

  private static final class Reordered<E> extends ReadOnly<E> {

    private final E[] then;

    Reordered(E[] then, SerializerSnapshot written) {
      super(written);
      this.then = then;
    }

    @Override
    public E read(ByteReader in) {
      return pick(then, in);
    }
  }
}
