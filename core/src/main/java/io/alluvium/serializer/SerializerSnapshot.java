package io.alluvium.serializer;

import io.alluvium.internal.arguments.Arguments;
import java.util.Arrays;

/**
 * A serializer's description of its own format, taken when a state is registered and stored in
 * every checkpoint. Immutable.
 *
 * @param id stable name of the format, for example {@code string} or {@code com.acme.Order}
 * @param version version of that format, at least 1
 * @param schema the data that a later serializer needs to recognise or read the format: record
 *     components, enum constants, the snapshots of element serializers; empty for a simple type
 */
public record SerializerSnapshot(String id, int version, byte[] schema) {

  public SerializerSnapshot {
    Arguments.check(id, "id");
    schema = Arguments.notNull(schema, "schema").clone();
  }

  @Override
  public byte[] schema() {
    return schema.clone();
  }

  public void write(ByteWriter out) {
    Arguments.check(out, "out");
    out.writeString(id);
    out.writeVarInt(version);
    out.writeByteArray(schema);
  }

  public static SerializerSnapshot read(ByteReader in) {
    Arguments.check(in, "in");
    return new SerializerSnapshot(in.readString(), in.readVarInt(), in.readByteArray());
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SerializerSnapshot that
        && id.equals(that.id)
        && version == that.version
        && Arrays.equals(schema, that.schema);
  }

  @Override
  public int hashCode() {
    return 31 * (31 * id.hashCode() + version) + Arrays.hashCode(schema);
  }

  /** Human-readable: the schema of a built-in format in words, any other schema in hexadecimal. */
  @Override
  public String toString() {
    return id + " v" + version + (schema.length == 0 ? "" : " " + SchemaText.of(this));
  }
}
