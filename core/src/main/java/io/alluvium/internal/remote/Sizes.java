package io.alluvium.internal.remote;

import java.nio.ByteBuffer;
import java.util.List;

/** Sizes of what is stored. Stateless. */
final class Sizes {

  private Sizes() {}

  static long of(List<ByteBuffer> content) {
    long size = 0;
    for (ByteBuffer part : content) {
      size += part.remaining();
    }
    return size;
  }
}
