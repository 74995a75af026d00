package io.alluvium.serializer;

import java.util.Arrays;

/**
 * What a serializer wrote about its own format when a state was registered; stored in every
 * checkpoint. Immutable.
 *
 * @param id stable name of the format, for example {@code string} or {@code com.acme.Order}
 * @param version version of that format, at least 1
 * @param schema whatever the serializer needs to recognise or read it later: record components,
 *     enum constants, the snapshots of element serializers; empty for a simple type
 */
public record SerializerSnapshot(String id, int version, byte[] schema) {

  public SerializerSnapshot {
    schema = schema.clone();
  }

  @Override
  public byte[] schema() {
    return schema.clone();
  }

  public void write(ByteWriter out) {
    out.writeString(id);
    out.writeVarInt(version);
    out.writeByteArray(schema);
  }

  public static SerializerSnapshot read(ByteReader in) {
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

  /**
   * For people: the schema of a built-in format in words, that of any other in hexadecimal digits.
   */
  @Override
  public String toString() {
    return id + " v" + version + (schema.length == 0 ? "" : " " + SchemaText.of(this));
  }
}
