package io.alluvium.testkit.script;

import io.alluvium.spi.BlobStore;
import java.nio.ByteBuffer;
import java.util.List;

/** Damages blobs directly in a store. Stateless. */
final class Damage {

  private Damage() {}

  /** Inverts a bit in the middle of a blob. */
  static void flip(BlobStore store, String name) {
    byte[] bytes = store.read(name, 0, Math.toIntExact(store.size(name).orElseThrow()));
    bytes[bytes.length / 2] ^= 1 << 3;
    store.delete(List.of(name));
    store.put(name, List.of(ByteBuffer.wrap(bytes)));
  }
}
