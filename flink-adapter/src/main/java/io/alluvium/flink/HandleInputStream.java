package io.alluvium.flink;

import java.io.IOException;
import java.io.InputStream;
import org.apache.flink.core.fs.FSDataInputStream;

/** Opens blobs inside of Flink's files. Stateless. */
final class HandleInputStream {

  private HandleInputStream() {}

  /** Bytes {@code [offset, offset + length)} of the blob that starts at a place. */
  static InputStream open(Place place, long offset, long length) throws IOException {
    FSDataInputStream in = place.handle().openInputStream();
    boolean done = false;
    try {
      in.seek(place.offset() + offset);
      done = true;
      return new LimitedInputStream(in, length);
    } finally {
      if (!done) {
        in.close();
      }
    }
  }
}
