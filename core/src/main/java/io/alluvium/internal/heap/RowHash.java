package io.alluvium.internal.heap;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Hashes a range of bytes, eight at a time. Hashes are never stored. Stateless. */
final class RowHash {

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** Odd and without a bit pattern: the fraction of the golden ratio. */
  private static final long FACTOR = 0x9e3779b97f4a7c15L;

  private RowHash() {}

  /** Never 0. */
  static int of(byte[] array, int from, int to) {
    long hash = (to - from) * FACTOR;
    int at = from;
    for (; at + Long.BYTES <= to; at += Long.BYTES) {
      hash = mix(hash ^ (long) LONG.get(array, at));
    }
    long tail = 0;
    for (int shift = 0; at < to; at++, shift += 8) {
      tail |= (array[at] & 0xffL) << shift;
    }
    hash = mix(hash ^ tail);
    int folded = (int) (hash ^ hash >>> 32);
    return folded == 0 ? 1 : folded;
  }

  private static long mix(long value) {
    long product = value * FACTOR;
    return product ^ product >>> 29;
  }
}
