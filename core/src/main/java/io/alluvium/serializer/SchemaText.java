package io.alluvium.serializer;

import io.alluvium.StateBackendException;
import java.util.HexFormat;
import java.util.StringJoiner;

/** Human-readable schemas for error messages and tools. Stateless. */
final class SchemaText {

  private SchemaText() {}

  static String of(SerializerSnapshot snapshot) {
    if (snapshot.version() == 1) {
      try {
        switch (snapshot.id()) {
          case EnumSerializer.ID -> {
            return typeName(snapshot)
                + "("
                + String.join(", ", EnumSerializer.namesOf(snapshot))
                + ")";
          }
          case RecordSerializer.ID -> {
            StringJoiner fields = new StringJoiner(", ", typeName(snapshot) + "(", ")");
            for (RecordSerializer.Field field : RecordSerializer.fieldsOf(snapshot)) {
              fields.add(field.format() + " " + field.name());
            }
            return fields.toString();
          }
          case "list", "set", "map", "pair", "optional" -> {
            StringJoiner parts = new StringJoiner(", ", "(", ")");
            ByteReader schema = new ByteReader(snapshot.schema());
            while (schema.remaining() > 0) {
              parts.add(SerializerSnapshot.read(schema).toString());
            }
            return parts.toString();
          }
          default -> {}
        }
      } catch (StateBackendException e) {
        // A foreign format with a built-in name, or damage: show the raw bytes.
        return HexFormat.of().formatHex(snapshot.schema());
      }
    }
    return HexFormat.of().formatHex(snapshot.schema());
  }

  private static String typeName(SerializerSnapshot snapshot) {
    return new ByteReader(snapshot.schema()).readString();
  }
}
