package io.alluvium.flink;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** The next bytes of a stream, up to a number of them. Confined to one thread. */
final class LimitedInputStream extends FilterInputStream {

  private long left;

  /** Owns {@code in}. */
  LimitedInputStream(InputStream in, long length) {
    super(in);
    left = length;
  }

  @Override
  public int read() throws IOException {
    int read = left == 0 ? -1 : in.read();
    if (read >= 0) {
      left--;
    }
    return read;
  }

  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    int read = left == 0 ? -1 : in.read(target, offset, (int) Math.min(length, left));
    if (read > 0) {
      left -= read;
    }
    return read;
  }

  @Override
  public long skip(long count) throws IOException {
    long skipped = in.skip(Math.min(count, left));
    left -= skipped;
    return skipped;
  }

  @Override
  public int available() throws IOException {
    return (int) Math.min(in.available(), left);
  }

  @Override
  public boolean markSupported() {
    return false;
  }
}
