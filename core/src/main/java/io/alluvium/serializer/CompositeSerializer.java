package io.alluvium.serializer;

import io.alluvium.StateBackendException;
import io.alluvium.internal.arguments.Arguments;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A format composed of other formats; its schema holds their snapshots. As thread-safe as its
 * parts.
 *
 * @param <T> type of the values
 */
abstract class CompositeSerializer<T> implements Serializer<T> {

  private final List<Serializer<?>> parts;
  private final SerializerSnapshot snapshot;

  CompositeSerializer(String id, Serializer<?>... parts) {
    this.parts = List.of(parts);
    ByteWriter schema = new ByteWriter();
    for (Serializer<?> part : parts) {
      Arguments.snapshotOf(part, "a part of '" + id + "'").write(schema);
    }
    this.snapshot = new SerializerSnapshot(id, 1, schema.toByteArray());
  }

  /** Returns this format with other parts of the same types, in the order of the constructor. */
  abstract Serializer<T> over(List<Serializer<?>> newParts);

  @Override
  public boolean isDeterministic() {
    return parts.stream().allMatch(Serializer::isDeterministic);
  }

  @Override
  public final SerializerSnapshot snapshot() {
    return snapshot;
  }

  @Override
  public final Optional<Serializer<T>> readerOf(SerializerSnapshot written) {
    if (!written.id().equals(snapshot.id()) || written.version() != snapshot.version()) {
      return Optional.empty();
    }
    ByteReader schema = new ByteReader(written.schema());
    List<Serializer<?>> readers = new ArrayList<>();
    boolean same = true;
    for (Serializer<?> part : parts) {
      Optional<? extends Serializer<?>> reader = part.readerOf(SerializerSnapshot.read(schema));
      if (reader.isEmpty()) {
        return Optional.empty();
      }
      readers.add(reader.get());
      same &= reader.get() == part;
    }
    return Optional.of(same ? this : over(readers));
  }

  /** Reads the number of elements that follow. */
  static int readCount(ByteReader in) {
    int count = in.readVarInt();
    if (count < 0) {
      throw StateBackendException.corrupt(
          "a stored collection says that it has "
              + Integer.toUnsignedString(count)
              + " elements, at most "
              + Integer.MAX_VALUE
              + " are possible");
    }
    return count;
  }

  /**
   * Initial capacity for {@code count} elements, bounded so that a damaged count cannot exhaust
   * memory.
   */
  static int capacity(int count, ByteReader in) {
    return Math.min(count, in.remaining());
  }

  @Override
  public final String toString() {
    return snapshot.toString();
  }
}
