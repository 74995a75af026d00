package io.alluvium.flink;

import io.alluvium.spi.ListOperands;
import java.io.IOException;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

/** Lists as core stores them, and as Flink's savepoints do. Stateless. */
final class Lists {

  /** Between two elements. */
  static final byte DELIMITER = ',';

  /** The tag of a list that was read from a savepoint: below that of every change. */
  static final long LOADED_SQN = -1;

  private Lists() {}

  /** Appends an operand of core with the given elements. */
  static void writeOperand(DataOutputSerializer out, long sqn, DataOutputSerializer elements)
      throws IOException {
    writeOperand(out, sqn, elements.getSharedBuffer(), elements.length());
  }

  static void writeOperand(DataOutputSerializer out, long sqn, byte[] elements, int length)
      throws IOException {
    out.writeLong(sqn);
    Rows.writePart(out, elements, 0, length);
  }

  /** Appends the elements of all operands of a list, in the form of a savepoint. */
  static void join(ListOperands operands, byte[] stored, int storedLength, DataOutputSerializer out)
      throws IOException {
    operands.reset(stored, 0, storedLength);
    while (operands.next()) {
      if (out.length() > 0) {
        out.writeByte(DELIMITER);
      }
      out.write(stored, operands.reader().position(), operands.payloadLength());
    }
  }

  /** Moves from behind an element to the next one. */
  static void skipDelimiter(DataInputDeserializer in) throws IOException {
    if (in.available() > 0) {
      in.readByte();
    }
  }
}
