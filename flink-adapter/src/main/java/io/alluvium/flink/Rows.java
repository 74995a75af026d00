package io.alluvium.flink;

import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.KeyLayout;
import java.io.IOException;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

/** The parts of a key, see {@link KeyLayout}. Stateless. */
final class Rows {

  private Rows() {}

  /** A state's id as it stands in a key. */
  static byte[] idBytes(int stateId) {
    ByteWriter out = new ByteWriter(8);
    KeyLayout.writeState(out, 0, stateId);
    byte[] withKeyGroup = out.toByteArray();
    byte[] id = new byte[withKeyGroup.length - KeyLayout.KEY_GROUP_BYTES];
    System.arraycopy(withKeyGroup, KeyLayout.KEY_GROUP_BYTES, id, 0, id.length);
    return id;
  }

  /**
   * Reads a key or a namespace.
   *
   * @param state its name, for messages
   */
  static <T> T read(
      TypeSerializer<T> serializer, byte[] row, int offset, int length, String state) {
    try {
      return serializer.deserialize(new DataInputDeserializer(row, offset, length));
    } catch (IOException e) {
      throw Failures.deserializing("a key or a namespace of state '" + state + "'", e);
    }
  }

  /** Writes a key or a namespace: its length, then its bytes. */
  static void writePart(DataOutputSerializer out, DataOutputSerializer part) throws IOException {
    writePart(out, part.getSharedBuffer(), 0, part.length());
  }

  static void writePart(DataOutputSerializer out, byte[] part, int offset, int length)
      throws IOException {
    writeVarInt(out, length);
    out.write(part, offset, length);
  }

  static void writeVarInt(DataOutputSerializer out, int value) throws IOException {
    int rest = value;
    while ((rest & ~0x7f) != 0) {
      out.writeByte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    out.writeByte(rest);
  }
}
