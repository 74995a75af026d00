package io.alluvium.flink;

import io.alluvium.spi.Pace;
import java.io.IOException;
import java.io.OutputStream;

/**
 * Sends a file's bytes on, no faster than a pace allows. Confined to the thread that writes; leaves
 * the stream below open.
 */
final class PacedOutputStream extends OutputStream {

  private static final int PIECE_BYTES = 256 << 10;

  private final OutputStream out;
  private final Pace pace;
  private long leftBytes;
  private long allowedBytes;

  /**
   * @param sizeBytes of the file
   */
  PacedOutputStream(OutputStream out, long sizeBytes, Pace pace) {
    this.out = out;
    this.leftBytes = sizeBytes;
    this.pace = pace;
  }

  @Override
  public void write(int oneByte) throws IOException {
    write(new byte[] {(byte) oneByte}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    for (int done = 0; done < length; ) {
      if (allowedBytes == 0) {
        // A file that is longer than it should be fails at its end.
        allowedBytes = leftBytes > 0 ? Math.min(PIECE_BYTES, leftBytes) : PIECE_BYTES;
        leftBytes -= allowedBytes;
        pace.await(allowedBytes);
      }
      int count = (int) Math.min(allowedBytes, length - done);
      out.write(bytes, offset + done, count);
      allowedBytes -= count;
      done += count;
    }
  }
}
