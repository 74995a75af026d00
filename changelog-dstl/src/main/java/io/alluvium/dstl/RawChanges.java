package io.alluvium.dstl;

import io.alluvium.spi.Operation;

/**
 * How changes stand in the active block, in order of appending, before it is sealed:
 *
 * <pre>
 *   0                              4              8
 *   | key length &lt;&lt; 2 | op - 1     | value length | key | value |
 * </pre>
 *
 * <p>Fixed lengths, because this is written once per change on the task thread; the durable form is
 * made at sealing, in the background. Sequence numbers are implied by the order.
 */
final class RawChanges {

  static final int HEADER_LENGTH = 8;

  private RawChanges() {}

  /** Writes one change at {@code at}; returns where the next goes. */
  static int write(
      byte[] block,
      int at,
      Operation operation,
      byte[] key,
      int keyLength,
      byte[] value,
      int valueLength) {
    Bytes.putInt(block, at, BlockFormat.pack(operation, keyLength));
    Bytes.putInt(block, at + 4, valueLength);
    int keyAt = at + HEADER_LENGTH;
    System.arraycopy(key, 0, block, keyAt, keyLength);
    System.arraycopy(value, 0, block, keyAt + keyLength, valueLength);
    return keyAt + keyLength + valueLength;
  }

  static int packed(byte[] block, int at) {
    return Bytes.getInt(block, at);
  }

  static int valueLength(byte[] block, int at) {
    return Bytes.getInt(block, at + 4);
  }
}
