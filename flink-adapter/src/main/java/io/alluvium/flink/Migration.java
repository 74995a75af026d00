package io.alluvium.flink;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer.TtlAwareListSerializer;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer.TtlAwareMapSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;

/**
 * The format that a state's values were written in, and the one that they are written in from now
 * on; also where one has timestamps for TTL and the other has not. Confined to the task thread.
 *
 * @param <V> what Flink calls the state's value: the list, the map, the accumulator
 */
final class Migration<V> {

  private final TtlAwareSerializer<V, ?> from;
  private final TtlAwareSerializer<V, ?> to;
  private final TtlTimeProvider time;

  Migration(TypeSerializer<V> from, TypeSerializer<V> to, TtlTimeProvider time) {
    this.from = aware(from);
    this.to = aware(to);
    this.time = time;
  }

  @SuppressWarnings("unchecked") // wraps the very serializer that it is given
  private static <T> TtlAwareSerializer<T, ?> aware(TypeSerializer<T> serializer) {
    return (TtlAwareSerializer<T, ?>) TtlAwareSerializer.wrapTtlAwareSerializer(serializer);
  }

  void value(DataInputDeserializer in, DataOutputSerializer out) throws IOException {
    convert(from, to, in, out);
  }

  /** Elements in the form of a savepoint. */
  @SuppressWarnings("unchecked") // a list state has a list serializer
  <E> void list(DataInputDeserializer in, DataOutputSerializer out) throws IOException {
    TtlAwareSerializer<E, ?> old =
        ((TtlAwareListSerializer<E>) (TtlAwareSerializer<List<E>, ?>) (Object) from)
            .getElementSerializer();
    TtlAwareSerializer<E, ?> fresh =
        ((TtlAwareListSerializer<E>) (TtlAwareSerializer<List<E>, ?>) (Object) to)
            .getElementSerializer();
    while (in.available() > 0) {
      convert(old, fresh, in, out);
      Lists.skipDelimiter(in);
      if (in.available() > 0) {
        out.writeByte(Lists.DELIMITER);
      }
    }
  }

  /** The value of one map entry, with its flag for null. */
  @SuppressWarnings("unchecked") // a map state has a map serializer
  <UK, UV> void mapValue(DataInputDeserializer in, DataOutputSerializer out) throws IOException {
    boolean isNull = in.readBoolean();
    out.writeBoolean(isNull);
    if (!isNull) {
      convert(
          ((TtlAwareMapSerializer<UK, UV>) (TtlAwareSerializer<Map<UK, UV>, ?>) (Object) from)
              .getValueSerializer(),
          ((TtlAwareMapSerializer<UK, UV>) (TtlAwareSerializer<Map<UK, UV>, ?>) (Object) to)
              .getValueSerializer(),
          in,
          out);
    }
  }

  private <T> void convert(
      TtlAwareSerializer<T, ?> old,
      TtlAwareSerializer<T, ?> fresh,
      DataInputDeserializer in,
      DataOutputSerializer out)
      throws IOException {
    fresh.migrateValueFromPriorSerializer(old, () -> old.deserialize(in), out, time);
  }
}
