package io.alluvium.serializer;

import java.util.List;

/** The first value, then the second. As thread-safe as its parts. */
final class PairSerializer<A, B> extends CompositeSerializer<Pair<A, B>> {

  private final Serializer<A> first;
  private final Serializer<B> second;

  PairSerializer(Serializer<A> first, Serializer<B> second) {
    super("pair", first, second);
    this.first = first;
    this.second = second;
  }

  @Override
  @SuppressWarnings("unchecked") // readers of the parts' own types
  Serializer<Pair<A, B>> over(List<Serializer<?>> newParts) {
    return new PairSerializer<>((Serializer<A>) newParts.get(0), (Serializer<B>) newParts.get(1));
  }

  @Override
  public void write(Pair<A, B> value, ByteWriter out) {
    first.write(value.first(), out);
    second.write(value.second(), out);
  }

  @Override
  public Pair<A, B> read(ByteReader in) {
    A a = first.read(in);
    return new Pair<>(a, second.read(in));
  }
}
