package io.alluvium.serializer;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Count, then the elements. As thread-safe as the element's serializer. */
final class SetSerializer<E> extends CompositeSerializer<Set<E>> {

  private final Serializer<E> element;

  SetSerializer(Serializer<E> element) {
    super("set", element);
    this.element = element;
  }

  @Override
  @SuppressWarnings("unchecked") // a reader of the element's own type
  Serializer<Set<E>> over(List<Serializer<?>> newParts) {
    return new SetSerializer<>((Serializer<E>) newParts.get(0));
  }

  /** False: equal sets may iterate in different orders. */
  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public void write(Set<E> value, ByteWriter out) {
    out.writeVarInt(value.size());
    for (E each : value) {
      element.write(each, out);
    }
  }

  @Override
  public Set<E> read(ByteReader in) {
    int count = readCount(in);
    Set<E> value = new LinkedHashSet<>();
    for (int i = 0; i < count; i++) {
      value.add(element.read(in));
    }
    return value;
  }
}
