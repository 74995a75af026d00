package io.alluvium.dstl;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Numbers in byte arrays: big endian, or varints of 7 bits a byte, least significant first. */
final class Bytes {

  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  /** The longest varint of an {@code int}. */
  static final int MAX_VARINT_LENGTH = 5;

  private Bytes() {}

  static int getShort(byte[] array, int at) {
    return (array[at] & 0xff) << 8 | (array[at + 1] & 0xff);
  }

  static void putShort(byte[] array, int at, int value) {
    array[at] = (byte) (value >>> 8);
    array[at + 1] = (byte) value;
  }

  static int getInt(byte[] array, int at) {
    return (int) INT.get(array, at);
  }

  static void putInt(byte[] array, int at, int value) {
    INT.set(array, at, value);
  }

  static long getLong(byte[] array, int at) {
    return (long) LONG.get(array, at);
  }

  static void putLong(byte[] array, int at, long value) {
    LONG.set(array, at, value);
  }

  /** Bytes of {@code value}, taken as unsigned, as a varint. */
  static int varIntLength(int value) {
    // 32 - leading zeros = significant bits; (9 * bits + 64) / 64 = ceil(bits / 7), at least 1.
    return (9 * (32 - Integer.numberOfLeadingZeros(value | 1)) + 64) >>> 6;
  }

  /** Writes {@code value}, taken as unsigned; returns where the next byte goes. */
  static int putVarInt(byte[] array, int start, int value) {
    int at = start;
    int rest = value;
    while ((rest & ~0x7f) != 0) {
      array[at++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    array[at++] = (byte) rest;
    return at;
  }
}
