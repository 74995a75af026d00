package io.alluvium.serializer;

import java.util.List;
import java.util.Optional;

/** A flag, then the value if there is one. As thread-safe as the value's serializer. */
final class OptionalSerializer<E> extends CompositeSerializer<Optional<E>> {

  private final Serializer<E> present;

  OptionalSerializer(Serializer<E> present) {
    super("optional", present);
    this.present = present;
  }

  @Override
  @SuppressWarnings("unchecked") // a reader of the value's own type
  Serializer<Optional<E>> over(List<Serializer<?>> newParts) {
    return new OptionalSerializer<>((Serializer<E>) newParts.get(0));
  }

  @Override
  public void write(Optional<E> value, ByteWriter out) {
    out.writeByte(value.isPresent() ? 1 : 0);
    if (value.isPresent()) {
      present.write(value.get(), out);
    }
  }

  @Override
  public Optional<E> read(ByteReader in) {
    return SimpleSerializers.readFlag(in) ? Optional.of(present.read(in)) : Optional.empty();
  }
}
