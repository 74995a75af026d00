package io.alluvium.spi;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteReader;
import io.alluvium.serializer.ByteWriter;

/**
 * The stored form of a list: operands one after the other, each tagged with the sequence number of
 * the change that wrote it.
 *
 * <pre>
 *   0            8                                        0            8
 *   | sqn, BE    | payload length, varint | elements ... | sqn, BE    | ...
 *   |&lt;------------------- operand ----------------------&gt;|&lt;--- operand ----
 * </pre>
 *
 * <p>Walks the operands of one value; reusable. Confined to one thread.
 */
public final class ListOperands {

  /*
   * Replaying changes over a table that already holds some of them appends operands for a second time, possibly out of
   * place: a table that holds operands 0 and 1 and replays both holds 0 1 0 1. The rule that makes this harmless:
   *
   *   an operand counts only when its sqn is greater than the greatest that counted before it in this value.
   *
   * "Than the one before it" is not enough (T12): 0 1 0 1 would read 0 1 1. And operands must never be joined under one tag
   * when changes are coalesced. A replacement of the list is a PUT of a single operand with its own sqn, so that older
   * appends replayed behind it do not count. All of this is proved by enumeration in ListReplayTest.
   */

  /** Before any operand; no sequence number is as small. */
  private static final long NOTHING = Long.MIN_VALUE;

  private final ByteReader in = new ByteReader();
  private long greatest = NOTHING;
  private int payloadEnd;

  /** Starts at the first operand of a list value. */
  public void reset(byte[] value, int offset, int length) {
    in.reset(value, offset, length);
    greatest = NOTHING;
    payloadEnd = offset;
  }

  /**
   * Moves to the next operand that counts; its elements are read from {@link #reader()} while
   * {@link #hasElements()}.
   */
  public boolean next() {
    in.skip(payloadEnd - in.position());
    while (in.remaining() > 0) {
      long sqn = in.readLong();
      int length = in.readVarInt();
      if (length < 0 || length > in.remaining()) {
        throw StateBackendException.corrupt(
            "a list operand says that it has "
                + Integer.toUnsignedString(length)
                + " bytes, "
                + in.remaining()
                + " are left");
      }
      payloadEnd = in.position() + length;
      if (sqn > greatest) {
        greatest = sqn;
        return true;
      }
      in.skip(length);
    }
    return false;
  }

  /** The tag of the current operand. */
  public long sqn() {
    return greatest;
  }

  /** Bytes of the current operand that were not read yet. */
  public int payloadLength() {
    return payloadEnd - in.position();
  }

  /** Stands at the next element of the current operand. */
  public ByteReader reader() {
    return in;
  }

  public boolean hasElements() {
    if (in.position() > payloadEnd) {
      throw StateBackendException.corrupt(
          "the elements of a list operand reach beyond its end by "
              + (in.position() - payloadEnd)
              + " bytes");
    }
    return in.position() < payloadEnd;
  }

  /** Appends one operand to {@code out}. */
  public static void write(ByteWriter out, long sqn, ByteWriter elements) {
    out.writeLong(sqn);
    out.writeVarInt(elements.length());
    out.writeBytes(elements.array(), 0, elements.length());
  }
}
