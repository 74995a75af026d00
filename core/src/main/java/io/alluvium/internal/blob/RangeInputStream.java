package io.alluvium.internal.blob;

import io.alluvium.internal.files.LocalFiles;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;

/** Reads at most {@code length} bytes of a file from an offset. Confined to one thread. */
final class RangeInputStream extends InputStream {

  private final FileChannel channel;
  private long position;
  private final long end;

  /** Closing the stream closes {@code channel}. */
  RangeInputStream(FileChannel channel, long offset, long length) {
    this.channel = channel;
    this.position = offset;
    this.end = offset + length < 0 ? Long.MAX_VALUE : offset + length;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) == 1 ? one[0] & 0xff : -1;
  }

  @Override
  public int read(byte[] target, int offset, int count) throws IOException {
    if (count == 0) {
      return 0;
    }
    int wanted = (int) Math.min(count, end - position);
    if (wanted <= 0) {
      return -1;
    }
    int got = LocalFiles.read(channel, position, target, offset, wanted);
    if (got > 0) {
      position += got;
    }
    return got;
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
