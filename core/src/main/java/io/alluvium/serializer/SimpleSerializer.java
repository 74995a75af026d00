package io.alluvium.serializer;

/** A format that its name describes completely. Immutable. */
abstract class SimpleSerializer<T> implements Serializer<T> {

  private final SerializerSnapshot snapshot;

  SimpleSerializer(String id) {
    this.snapshot = new SerializerSnapshot(id, 1, new byte[0]);
  }

  @Override
  public final SerializerSnapshot snapshot() {
    return snapshot;
  }

  @Override
  public final String toString() {
    return snapshot.id();
  }
}
