package io.alluvium.flink;

import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.ListSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.StateSnapshotTransformer;
import org.apache.flink.runtime.state.StateSnapshotTransformer.StateSnapshotTransformFactory;
import org.jspecify.annotations.Nullable;

/**
 * What leaves expired values out of savepoints, at the level of the values that a savepoint holds.
 * Stateless.
 */
final class Transformers {

  private Transformers() {}

  /** Wraps a factory for elements of a state into one for its stored values. */
  @SuppressWarnings("unchecked") // a list state has a list serializer
  static <SV, SEV> StateSnapshotTransformFactory<SV> serialized(
      StateDescriptor<?, SV> descriptor,
      StateSnapshotTransformFactory<SEV> elements,
      TypeSerializer<SV> serializer) {
    if (descriptor instanceof ListStateDescriptor) {
      TypeSerializer<SEV> element = ((ListSerializer<SEV>) serializer).getElementSerializer();
      return new OfStored<>() {
        @Override
        public Optional<StateSnapshotTransformer<byte[]>> createForSerializedState() {
          return elements
              .createForDeserializedState()
              .map(transformer -> new OfList<>(transformer, element.duplicate()));
        }
      };
    }
    boolean map = descriptor instanceof MapStateDescriptor;
    return new OfStored<>() {
      @Override
      public Optional<StateSnapshotTransformer<byte[]>> createForSerializedState() {
        Optional<StateSnapshotTransformer<byte[]>> values = elements.createForSerializedState();
        return map ? values.map(OfMapValue::new) : values;
      }
    };
  }

  private abstract static class OfStored<T> implements StateSnapshotTransformFactory<T> {
    @Override
    public Optional<StateSnapshotTransformer<T>> createForDeserializedState() {
      throw new UnsupportedOperationException("values are transformed as they are stored");
    }
  }

  /** The value of a map entry behind its flag for null. Confined to one thread. */
  private static final class OfMapValue implements StateSnapshotTransformer<byte[]> {
    private final StateSnapshotTransformer<byte[]> value;

    OfMapValue(StateSnapshotTransformer<byte[]> value) {
      this.value = value;
    }

    @Override
    public byte @Nullable [] filterOrTransform(byte @Nullable [] stored) {
      if (stored == null || stored[0] != 0) {
        return stored;
      }
      byte[] before = Arrays.copyOfRange(stored, 1, stored.length);
      byte[] after = value.filterOrTransform(before);
      if (after == null) {
        return null;
      }
      if (after == before) {
        return stored;
      }
      byte[] whole = new byte[after.length + 1];
      System.arraycopy(after, 0, whole, 1, after.length);
      return whole;
    }
  }

  /** The elements of a list, in the form of a savepoint. Confined to one thread. */
  private static final class OfList<E> implements StateSnapshotTransformer<byte[]> {
    private final StateSnapshotTransformer<E> element;
    private final TypeSerializer<E> serializer;
    private final DataInputDeserializer in = new DataInputDeserializer();
    private final DataOutputSerializer out = new DataOutputSerializer(128);

    OfList(StateSnapshotTransformer<E> element, TypeSerializer<E> serializer) {
      this.element = element;
      this.serializer = serializer;
    }

    @Override
    public byte @Nullable [] filterOrTransform(byte @Nullable [] stored) {
      if (stored == null) {
        return null;
      }
      try {
        in.setBuffer(stored);
        out.clear();
        boolean any = false;
        while (in.available() > 0) {
          E transformed = element.filterOrTransform(serializer.deserialize(in));
          Lists.skipDelimiter(in);
          if (transformed != null) {
            if (any) {
              out.writeByte(Lists.DELIMITER);
            }
            any = true;
            serializer.serialize(transformed, out);
          }
        }
        return any ? out.getCopyOfBuffer() : null;
      } catch (IOException e) {
        throw Failures.deserializing("an element of a list", e);
      }
    }
  }
}
