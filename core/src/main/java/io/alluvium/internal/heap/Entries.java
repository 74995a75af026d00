package io.alluvium.internal.heap;

import io.alluvium.StateBackendException;
import io.alluvium.serializer.ByteWriter;
import java.util.Arrays;

/**
 * Operations on entries. An entry is a key with its value as one object: a byte array, or an {@link
 * AppendableEntry} for a value that is appended to. Stateless.
 *
 * <pre>
 *   | key length, varint | key | value |
 * </pre>
 */
final class Entries {

  /** Entries up to this size are copied at each append; larger ones get spare capacity. */
  private static final int SMALL = 256;

  private static final int MAX_BYTES = Integer.MAX_VALUE - 16;

  /**
   * An entry with spare capacity after its value. Bytes below {@code length} never change, so that
   * several entries of different lengths can share one array.
   */
  static final class AppendableEntry {

    private final byte[] array;
    private int length;

    private AppendableEntry(byte[] array, int length) {
      this.array = array;
      this.length = length;
    }
  }

  /** Whether a pin may refer to an entry; only an exclusive entry is changed in place. */
  enum Sharing {
    EXCLUSIVE,
    SHARED
  }

  private Entries() {}

  static byte[] of(
      byte[] key, int keyFrom, int keyTo, byte[] value, int valueOffset, int valueLength) {
    int keyLength = keyTo - keyFrom;
    int keyAt = varIntBytes(keyLength);
    byte[] entry = new byte[checkSize((long) keyAt + keyLength + valueLength)];
    writeVarInt(entry, keyLength);
    System.arraycopy(key, keyFrom, entry, keyAt, keyLength);
    System.arraycopy(value, valueOffset, entry, keyAt + keyLength, valueLength);
    return entry;
  }

  private static int checkSize(long bytes) {
    if (bytes > MAX_BYTES) {
      throw StateBackendException.invalid(
          "one key with its value would take "
              + bytes
              + " bytes, the heap table holds at most "
              + MAX_BYTES
              + "; use a map state, or the rocksdb table");
    }
    return (int) bytes;
  }

  private static int varIntBytes(int value) {
    return value < 1 << 7 ? 1 : value < 1 << 14 ? 2 : value < 1 << 21 ? 3 : value < 1 << 28 ? 4 : 5;
  }

  private static void writeVarInt(byte[] entry, int value) {
    int rest = value;
    int at = 0;
    for (; rest >= 0x80; rest >>>= 7) {
      entry[at++] = (byte) (rest | 0x80);
    }
    entry[at] = (byte) rest;
  }

  static byte[] array(Object entry) {
    return entry instanceof byte[] plain ? plain : ((AppendableEntry) entry).array;
  }

  /** End of the value in the array. */
  static int end(Object entry) {
    return entry instanceof byte[] plain ? plain.length : ((AppendableEntry) entry).length;
  }

  static int keyOffset(byte[] array) {
    int at = 0;
    while (array[at] < 0) {
      at++;
    }
    return at + 1;
  }

  /** End of the key and start of the value in the array. */
  static int keyEnd(byte[] array) {
    int length = 0;
    int at = 0;
    for (int shift = 0; array[at] < 0; shift += 7) {
      length |= (array[at++] & 0x7f) << shift;
    }
    length |= array[at] << (7 * at);
    return at + 1 + length;
  }

  static boolean hasKey(Object entry, byte[] key, int from, int to) {
    byte[] array = array(entry);
    int end = keyEnd(array);
    return end - keyOffset(array) == to - from
        && Arrays.equals(array, end - (to - from), end, key, from, to);
  }

  static int compareKey(Object entry, byte[] key, int from, int to) {
    byte[] array = array(entry);
    return Arrays.compareUnsigned(array, keyOffset(array), keyEnd(array), key, from, to);
  }

  static boolean keyStartsWith(Object entry, byte[] prefix, int from, int to) {
    byte[] array = array(entry);
    int at = keyOffset(array);
    int length = to - from;
    return keyEnd(array) - at >= length && Arrays.equals(array, at, at + length, prefix, from, to);
  }

  static void copyValue(Object entry, ByteWriter into) {
    byte[] array = array(entry);
    int at = keyEnd(array);
    into.clear();
    into.writeBytes(array, at, end(entry) - at);
  }

  /** Replaces the value; changes the entry in place if it is exclusive and the size is equal. */
  static Object withValue(
      Object entry, byte[] value, int valueOffset, int valueLength, Sharing sharing) {
    byte[] array = array(entry);
    int at = keyEnd(array);
    if (sharing == Sharing.EXCLUSIVE
        && entry instanceof byte[]
        && array.length - at == valueLength) {
      System.arraycopy(value, valueOffset, array, at, valueLength);
      return entry;
    }
    byte[] changed = Arrays.copyOf(array, checkSize((long) at + valueLength));
    System.arraycopy(value, valueOffset, changed, at, valueLength);
    return changed;
  }

  /** Appends an operand to the value. */
  static Object append(
      Object entry, byte[] operand, int operandOffset, int operandLength, Sharing sharing) {
    byte[] array = array(entry);
    int end = end(entry);
    int newEnd = checkSize((long) end + operandLength);
    if (entry instanceof AppendableEntry appendable && newEnd <= array.length) {
      System.arraycopy(operand, operandOffset, array, end, operandLength);
      if (sharing == Sharing.SHARED) {
        return new AppendableEntry(array, newEnd);
      }
      appendable.length = newEnd;
      return appendable;
    }
    int capacity =
        newEnd <= SMALL ? newEnd : (int) Math.min(MAX_BYTES, (long) newEnd + (newEnd >> 1));
    byte[] grown = Arrays.copyOf(array, capacity);
    System.arraycopy(operand, operandOffset, grown, end, operandLength);
    return capacity == newEnd ? grown : new AppendableEntry(grown, newEnd);
  }

  /** Returns an entry with the same value and another key. */
  static byte[] rekeyed(Object entry, byte[] key, int keyFrom, int keyTo) {
    byte[] array = array(entry);
    int at = keyEnd(array);
    return of(key, keyFrom, keyTo, array, at, end(entry) - at);
  }
}
