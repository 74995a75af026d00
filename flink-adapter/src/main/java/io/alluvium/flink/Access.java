package io.alluvium.flink;

import io.alluvium.bytes.ByteBackend;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.TableScan;
import java.io.IOException;
import java.util.Arrays;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.jspecify.annotations.Nullable;

/**
 * What all states of one keyed backend share: the bytes below, the current key, and the buffers
 * that a key and a value are encoded into. Confined to the task thread.
 *
 * <p>No user code but serializers runs between filling a buffer and using it; so one set of buffers
 * is enough for all states, however they call each other.
 */
final class Access<K> {

  /** Buffers above this size are given back after use: one huge list must not stay for ever. */
  private static final int KEPT_BUFFER_BYTES = 4 << 20;

  final ByteBackend bytes;
  final TypeSerializer<K> keySerializer;
  final int numberOfKeyGroups;
  final Queries queries;
  final DataInputDeserializer in = new DataInputDeserializer();
  private final DataOutputSerializer current = new DataOutputSerializer(64);
  private DataOutputSerializer key = new DataOutputSerializer(64);
  private DataOutputSerializer value = new DataOutputSerializer(128);
  private ByteWriter stored = new ByteWriter();
  private int keyGroup = -1;

  Access(
      ByteBackend bytes, TypeSerializer<K> keySerializer, int numberOfKeyGroups, Queries queries) {
    this.bytes = bytes;
    this.keySerializer = keySerializer;
    this.numberOfKeyGroups = numberOfKeyGroups;
    this.queries = queries;
  }

  /** Serializes the current key, once for all states. */
  void select(K newKey, int newKeyGroup) {
    // A heap table's materialization goes on between records.
    bytes.idle();
    keyGroup = -1;
    current.clear();
    try {
      keySerializer.serialize(newKey, current);
    } catch (IOException e) {
      throw Failures.serializing("key '" + newKey + "'", e);
    }
    keyGroup = newKeyGroup;
  }

  /**
   * Starts the key of a row: key group, state, current key. The namespace comes next.
   *
   * @param stateId as it stands in a key
   */
  DataOutputSerializer startRow(byte[] stateId) throws IOException {
    if (keyGroup < 0) {
      throw new NullPointerException(
          "No key set. This method should not be called outside of a keyed context.");
    }
    DataOutputSerializer out = clearKey();
    out.writeShort(keyGroup);
    out.write(stateId);
    Rows.writePart(out, current);
    return out;
  }

  int keyGroup() {
    return keyGroup;
  }

  DataOutputSerializer clearKey() {
    if (key.getSharedBuffer().length > KEPT_BUFFER_BYTES) {
      key = new DataOutputSerializer(64);
    }
    key.clear();
    return key;
  }

  DataOutputSerializer clearValue() {
    if (value.getSharedBuffer().length > KEPT_BUFFER_BYTES) {
      value = new DataOutputSerializer(128);
    }
    value.clear();
    return value;
  }

  /** Reads the value of a key; null when there is none. Valid until the next read. */
  @Nullable ByteWriter read(DataOutputSerializer row) {
    return read(row.getSharedBuffer(), row.length());
  }

  @Nullable ByteWriter read(byte[] row, int rowLength) {
    if (stored.array().length > KEPT_BUFFER_BYTES) {
      stored = new ByteWriter();
    }
    stored.clear();
    return bytes.get(row, rowLength, stored) ? stored : null;
  }

  /** As {@link #read}, ready to be deserialized. */
  @Nullable DataInputDeserializer open(DataOutputSerializer row) {
    ByteWriter found = read(row);
    if (found == null) {
      return null;
    }
    in.setBuffer(found.array(), 0, found.length());
    return in;
  }

  void put(DataOutputSerializer row, DataOutputSerializer newValue) {
    bytes.put(row.getSharedBuffer(), row.length(), newValue.getSharedBuffer(), newValue.length());
  }

  void merge(DataOutputSerializer row, DataOutputSerializer operand) {
    bytes.merge(row.getSharedBuffer(), row.length(), operand.getSharedBuffer(), operand.length());
  }

  void delete(DataOutputSerializer row) {
    bytes.delete(row.getSharedBuffer(), row.length());
  }

  TableScan scan(DataOutputSerializer prefix) {
    return bytes.scan(prefix.getSharedBuffer(), prefix.length());
  }

  static byte[] copy(DataOutputSerializer bytes) {
    return Arrays.copyOf(bytes.getSharedBuffer(), bytes.length());
  }
}
