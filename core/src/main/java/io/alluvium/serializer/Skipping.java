package io.alluvium.serializer;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Skips a value of a built-in format, for a component that was removed from a record. Immutable.
 */
final class Skipping extends ReadOnly<Object> {

  private static final Object NOTHING = new Object();

  private final Step step;

  private Skipping(SerializerSnapshot written, Step step) {
    super(written);
    this.step = step;
  }

  private interface Step {
    void skip(ByteReader in);
  }

  @Override
  public Object read(ByteReader in) {
    step.skip(in);
    return NOTHING;
  }

  /** Returns empty if the format is not built-in. */
  static Optional<Serializer<Object>> reader(SerializerSnapshot written) {
    return step(written).map(step -> new Skipping(written, step));
  }

  private static Optional<Step> step(SerializerSnapshot written) {
    if (written.version() != 1) {
      return Optional.empty();
    }
    return switch (written.id()) {
      case "bool", "int8" -> fixed(1);
      case "int16", "char" -> fixed(2);
      case "int32", "float32" -> fixed(4);
      case "int64", "float64" -> fixed(8);
      case "instant", "duration" -> fixed(12);
      case "uuid" -> fixed(16);
      case "string", "bytes", "bigint" -> Optional.of(in -> in.skip(in.readVarInt()));
      case "decimal" ->
          Optional.of(
              in -> {
                in.skip(4);
                in.skip(in.readVarInt());
              });
      case EnumSerializer.ID -> Optional.of(ByteReader::readVarInt);
      case "list", "set" -> parts(written, 1).map(Skipping::repeated);
      case "map" -> parts(written, 2).map(Skipping::repeated);
      case "pair" -> parts(written, 2).map(Skipping::inOrder);
      case "optional" -> parts(written, 1).map(Skipping::optional);
      case RecordSerializer.ID ->
          all(RecordSerializer.fieldsOf(written).stream()
                  .map(RecordSerializer.Field::format)
                  .toList())
              .map(Skipping::inOrder);
      default -> Optional.empty();
    };
  }

  private static Optional<Step> fixed(int bytes) {
    return Optional.of(in -> in.skip(bytes));
  }

  private static Step inOrder(List<Step> parts) {
    return in -> parts.forEach(part -> part.skip(in));
  }

  private static Step repeated(List<Step> parts) {
    return in -> {
      for (int left = CompositeSerializer.readCount(in); left > 0; left--) {
        parts.forEach(part -> part.skip(in));
      }
    };
  }

  private static Step optional(List<Step> parts) {
    return in -> {
      if (SimpleSerializers.readFlag(in)) {
        parts.get(0).skip(in);
      }
    };
  }

  private static Optional<List<Step>> parts(SerializerSnapshot written, int count) {
    ByteReader schema = new ByteReader(written.schema());
    List<SerializerSnapshot> snapshots = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      snapshots.add(SerializerSnapshot.read(schema));
    }
    return all(snapshots);
  }

  private static Optional<List<Step>> all(List<SerializerSnapshot> snapshots) {
    List<Step> steps = new ArrayList<>();
    for (SerializerSnapshot snapshot : snapshots) {
      Optional<Step> step = step(snapshot);
      if (step.isEmpty()) {
        return Optional.empty();
      }
      steps.add(step.get());
    }
    return Optional.of(steps);
  }
}
