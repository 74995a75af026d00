package io.alluvium.internal.restore;

/**
 * Joins the CRC32C of parts into the CRC32C of the whole, so that parts can be checked in the order
 * in which they arrive. Stateless.
 *
 * <p>A CRC is the remainder of a polynomial over GF(2); appending n bytes multiplies what came
 * before by x^(8n). The powers x^(2^k) are tabulated, as zlib does since 1.2.12 (Mark Adler).
 */
final class Crc32cParts {

  /** The Castagnoli polynomial, bits reversed. */
  private static final int POLYNOMIAL = 0x82f6_3b78;

  /** The polynomials 1 and x; the highest bit is the constant term. */
  private static final int ONE = 1 << 31;

  private static final int X = 1 << 30;

  /** x^8, one byte, is x^(2^3). */
  private static final int BYTE_POWER = 3;

  private static final int[] POWERS = new int[Long.SIZE + BYTE_POWER];

  static {
    POWERS[0] = X;
    for (int i = 1; i < POWERS.length; i++) {
      POWERS[i] = multiply(POWERS[i - 1], POWERS[i - 1]);
    }
  }

  private Crc32cParts() {}

  /**
   * The checksum of two parts together.
   *
   * @param secondLength bytes of the second part
   */
  static int join(int first, int second, long secondLength) {
    int shift = ONE;
    int power = BYTE_POWER;
    for (long rest = secondLength; rest != 0; rest >>>= 1) {
      if ((rest & 1) != 0) {
        shift = multiply(POWERS[power], shift);
      }
      power++;
    }
    return multiply(shift, first) ^ second;
  }

  private static int multiply(int left, int right) {
    int product = 0;
    int factor = right;
    for (int bit = ONE; bit != 0; bit >>>= 1) {
      if ((left & bit) != 0) {
        product ^= factor;
      }
      factor = (factor & 1) != 0 ? factor >>> 1 ^ POLYNOMIAL : factor >>> 1;
    }
    return product;
  }
}
