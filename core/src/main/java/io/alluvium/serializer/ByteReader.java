package io.alluvium.serializer;

import io.alluvium.StateBackendException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads what {@link ByteWriter} wrote. Reading past the end of the given range throws {@code
 * CORRUPT}; no byte outside of the range is read. Reusable through {@link #reset}. Confined to one
 * thread.
 */
public final class ByteReader {

  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private byte[] array;
  private int position;
  private int limit;

  public ByteReader() {
    this(new byte[0]);
  }

  public ByteReader(byte[] array) {
    this(array, 0, array.length);
  }

  public ByteReader(byte[] array, int offset, int length) {
    this.array = array;
    reset(array, offset, length);
  }

  public void reset(byte[] newArray, int offset, int length) {
    if (offset < 0 || length < 0 || offset > newArray.length - length) {
      throw StateBackendException.internal(
          "range " + offset + "+" + length + " outside an array of " + newArray.length + " bytes");
    }
    array = newArray;
    position = offset;
    limit = offset + length;
  }

  public byte[] array() {
    return array;
  }

  /** Index into {@link #array()} of the next byte. */
  public int position() {
    return position;
  }

  public int remaining() {
    return limit - position;
  }

  private int advance(int count) {
    if (count < 0 || count > limit - position) {
      throw StateBackendException.corrupt(
          "a stored value ends early: " + count + " bytes needed, " + (limit - position) + " left");
    }
    int start = position;
    position += count;
    return start;
  }

  public byte readByte() {
    return array[advance(1)];
  }

  public int readUnsignedShort() {
    int at = advance(2);
    return (array[at] & 0xff) << 8 | (array[at + 1] & 0xff);
  }

  public int readInt() {
    return (int) INT.get(array, advance(4));
  }

  public long readLong() {
    return (long) LONG.get(array, advance(8));
  }

  public int readVarInt() {
    int value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      byte b = readByte();
      value |= (b & 0x7f) << shift;
      if (b >= 0) {
        return value;
      }
    }
    throw StateBackendException.corrupt("a varint is longer than 5 bytes");
  }

  public long readVarLong() {
    long value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      byte b = readByte();
      value |= (b & 0x7fL) << shift;
      if (b >= 0) {
        return value;
      }
    }
    throw StateBackendException.corrupt("a varlong is longer than 10 bytes");
  }

  public byte[] readBytes(int count) {
    int at = advance(count);
    return Arrays.copyOfRange(array, at, at + count);
  }

  public void skip(int count) {
    advance(count);
  }

  public String readString() {
    int count = readVarInt();
    int at = advance(count);
    return new String(array, at, count, StandardCharsets.UTF_8);
  }

  public byte[] readByteArray() {
    return readBytes(readVarInt());
  }
}
