package io.alluvium.serializer;

/** A format without a schema: its name describes it completely. Immutable. */
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
