package io.alluvium.flink;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import org.apache.flink.core.fs.FSDataInputStream;

/** Opens blobs inside of Flink's files. Stateless. */
final class HandleInputStream {

  private HandleInputStream() {}

  /**
   * Bytes {@code [offset, offset + length)} of a blob that stands in several places, from the first
   * whose file is still there.
   *
   * @param places at least one
   */
  static InputStream openAny(List<Place> places, long offset, long length) throws IOException {
    IOException failure = null;
    for (Place place : places) {
      try {
        return open(place, offset, length);
      } catch (IOException e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    throw failure == null ? new IOException("no place to read from") : failure;
  }

  private static InputStream open(Place place, long offset, long length) throws IOException {
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
