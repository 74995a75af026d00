package io.alluvium.serializer;

import io.alluvium.StateBackendException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A growing byte buffer, reused for many keys and values. Multi-byte numbers are big endian.
 * Varints are little-endian base 128: seven bits a byte, the high bit means that more bytes follow.
 * Confined to one thread.
 */
public final class ByteWriter {

  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final int MAX_CAPACITY = Integer.MAX_VALUE - 16;

  private byte[] array;
  private int length;

  public ByteWriter() {
    this(64);
  }

  public ByteWriter(int capacity) {
    this.array = new byte[capacity];
  }

  /** The backing array; valid up to {@link #length()} and until the next write. */
  public byte[] array() {
    return array;
  }

  public int length() {
    return length;
  }

  public void clear() {
    length = 0;
  }

  /**
   * Sets the length: truncates, or includes bytes that the caller has written into {@link
   * #array()}.
   */
  public void setLength(int newLength) {
    ensureCapacity(newLength);
    length = newLength;
  }

  /**
   * Makes room for {@code capacity} bytes in total, so that the caller may write into {@link
   * #array()} directly.
   */
  public void ensureCapacity(int capacity) {
    if (capacity < 0 || capacity > array.length) {
      grow(capacity);
    }
  }

  private void grow(int capacity) {
    if (capacity < 0 || capacity > MAX_CAPACITY) {
      throw StateBackendException.invalid(
          "a serialized key or value must be smaller than " + MAX_CAPACITY + " bytes");
    }
    int doubled = (int) Math.min(MAX_CAPACITY, 2L * array.length);
    array = Arrays.copyOf(array, Math.max(capacity, doubled));
  }

  public void writeByte(int value) {
    ensureCapacity(length + 1);
    array[length++] = (byte) value;
  }

  public void writeShort(int value) {
    ensureCapacity(length + 2);
    array[length] = (byte) (value >>> 8);
    array[length + 1] = (byte) value;
    length += 2;
  }

  public void writeInt(int value) {
    ensureCapacity(length + 4);
    INT.set(array, length, value);
    length += 4;
  }

  public void writeLong(long value) {
    ensureCapacity(length + 8);
    LONG.set(array, length, value);
    length += 8;
  }

  /** One to five bytes; a negative number takes five. */
  public void writeVarInt(int value) {
    int rest = value;
    while ((rest & ~0x7f) != 0) {
      writeByte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    writeByte(rest);
  }

  /** One to ten bytes; a negative number takes ten. */
  public void writeVarLong(long value) {
    long rest = value;
    while ((rest & ~0x7fL) != 0) {
      writeByte((int) (rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    writeByte((int) rest);
  }

  public void writeBytes(byte[] source) {
    writeBytes(source, 0, source.length);
  }

  public void writeBytes(byte[] source, int offset, int count) {
    ensureCapacity(length + count);
    System.arraycopy(source, offset, array, length, count);
    length += count;
  }

  /** Length in bytes as a varint, then the UTF-8 bytes. */
  public void writeString(String value) {
    byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
    writeVarInt(utf8.length);
    writeBytes(utf8);
  }

  /** Length in bytes as a varint, then the bytes. */
  public void writeByteArray(byte[] value) {
    writeVarInt(value.length);
    writeBytes(value);
  }

  public byte[] toByteArray() {
    return Arrays.copyOf(array, length);
  }
}
