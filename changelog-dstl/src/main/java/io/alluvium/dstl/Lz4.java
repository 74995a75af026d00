package io.alluvium.dstl;

import io.alluvium.StateBackendException;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Exception;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4SafeDecompressor;

/** The LZ4 block codec; loaded at its first use. Thread-safe. */
final class Lz4 {

  private static final LZ4Compressor COMPRESSOR = LZ4Factory.fastestInstance().fastCompressor();
  private static final LZ4SafeDecompressor DECOMPRESSOR =
      LZ4Factory.fastestInstance().safeDecompressor();

  private Lz4() {}

  static int maxCompressedLength(int length) {
    return COMPRESSOR.maxCompressedLength(length);
  }

  /** Compresses; returns the compressed length. {@code to} has room for the worst case. */
  static int compress(byte[] from, int fromAt, int length, byte[] to, int toAt) {
    return COMPRESSOR.compress(from, fromAt, length, to, toAt, to.length - toAt);
  }

  /**
   * Decompresses to exactly {@code rawLength} bytes; anything else is {@code CORRUPT}.
   *
   * @param blob and {@code offset}: where {@code from} was read, for messages
   */
  static void decompress(
      String blob, long offset, byte[] from, int fromAt, int length, byte[] to, int toAt, int raw) {
    String found;
    try {
      int got = DECOMPRESSOR.decompress(from, fromAt, length, to, toAt, raw);
      if (got == raw) {
        return;
      }
      found = got + " bytes";
    } catch (LZ4Exception e) {
      found = "no LZ4 data (" + e.getMessage() + ")";
    }
    throw StateBackendException.corrupt(
        blob, offset, "LZ4 data of " + raw + " bytes in " + length, found);
  }
}
