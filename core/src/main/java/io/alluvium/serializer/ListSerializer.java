package io.alluvium.serializer;

import java.util.ArrayList;
import java.util.List;

/** Count, then the elements. As thread-safe as the element's serializer. */
final class ListSerializer<E> extends CompositeSerializer<List<E>> {

  private final Serializer<E> element;

  ListSerializer(Serializer<E> element) {
    super("list", element);
    this.element = element;
  }

  @Override
  @SuppressWarnings("unchecked") // a reader of the element's own type
  Serializer<List<E>> over(List<Serializer<?>> newParts) {
    return new ListSerializer<>((Serializer<E>) newParts.get(0));
  }

  @Override
  public void write(List<E> value, ByteWriter out) {
    out.writeVarInt(value.size());
    for (E each : value) {
      element.write(each, out);
    }
  }

  @Override
  public List<E> read(ByteReader in) {
    int count = readCount(in);
    List<E> value = new ArrayList<>(capacity(count, in));
    for (int i = 0; i < count; i++) {
      value.add(element.read(in));
    }
    return value;
  }
}
