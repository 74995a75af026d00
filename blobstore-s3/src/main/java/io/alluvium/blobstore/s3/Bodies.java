package io.alluvium.blobstore.s3;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;
import software.amazon.awssdk.core.async.AsyncRequestBody;

/** What requests send, in pieces. Stateless. */
final class Bodies {

  /*
   * Both the JDK's channels and Netty's move the bytes of an array through direct memory of the same size. A change may
   * have 256 MB, and a TaskManager has 128 MB of direct memory for all slots. The client asks for a few pieces ahead.
   */
  private static final int PIECE_BYTES = 256 << 10;

  private Bodies() {}

  static AsyncRequestBody of(byte[] bytes) {
    return of(List.of(ByteBuffer.wrap(bytes)));
  }

  /** What remains of the buffers, whose positions stay; they must not change while it is sent. */
  static AsyncRequestBody of(List<ByteBuffer> content) {
    List<ByteBuffer> pieces = new ArrayList<>();
    for (ByteBuffer part : content) {
      for (int at = part.position(); at < part.limit(); at += PIECE_BYTES) {
        pieces.add(part.slice(at, Math.min(PIECE_BYTES, part.limit() - at)));
      }
    }
    return pieces.isEmpty()
        ? AsyncRequestBody.empty()
        : AsyncRequestBody.fromRemainingByteBuffersUnsafe(pieces.toArray(ByteBuffer[]::new));
  }

  /**
   * Reads a part of a file.
   *
   * @throws IOException also when the file ends before that
   */
  static byte[] read(FileChannel channel, long offset, int count) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(count);
    while (bytes.position() < count) {
      bytes.limit(Math.min(count, bytes.position() + PIECE_BYTES));
      if (channel.read(bytes, offset + bytes.position()) < 0) {
        throw new IOException(
            "it ended after "
                + (offset + bytes.position())
                + " bytes, expected at least "
                + (offset + count));
      }
    }
    return bytes.array();
  }
}
