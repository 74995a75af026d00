package io.alluvium.rocksdb;

import io.alluvium.KeyGroupRange;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Bounds of key ranges, half-open, in unsigned lexicographic order. */
final class KeyBounds {

  /** Sorts before every key. */
  static final byte[] FIRST = bound(0);

  /** Sorts after every key, because key groups end below it. */
  static final byte[] LAST = bound(KeyGroupRange.MAX_KEY_GROUPS);

  private KeyBounds() {}

  /** What every key of {@code keyGroup} and of later ones sorts after; never a key itself. */
  static byte[] bound(int keyGroup) {
    return new byte[] {(byte) (keyGroup >>> 8), (byte) keyGroup};
  }

  /**
   * The least key that sorts after every key with this prefix; null when there is none, because the
   * prefix is empty or all ones.
   */
  static byte @Nullable [] successor(byte[] prefix, int length) {
    int at = length - 1;
    while (at >= 0 && prefix[at] == (byte) 0xff) {
      at--;
    }
    if (at < 0) {
      return null;
    }
    byte[] successor = Arrays.copyOf(prefix, at + 1);
    successor[at]++;
    return successor;
  }
}
