package io.alluvium.internal.catalog;

import io.alluvium.internal.blob.MemoryBlobStore;
import io.alluvium.spi.BlobInfo;
import java.nio.ByteBuffer;
import java.util.List;

/** What the owners of a test share, seen as it is. */
final class SharedStore {

  final MemoryBlobStore.Content content = new MemoryBlobStore.Content();
  final MemoryBlobStore raw = new MemoryBlobStore(content, "memory:raw", () -> 0L);
  private long seed;

  /** One that retains one checkpoint. */
  Owner owner() {
    return owner(Owner.retain(1));
  }

  Owner owner(CatalogSettings settings) {
    return new Owner(content, ++seed, settings);
  }

  List<String> names() {
    return raw.list("").stream().map(BlobInfo::name).toList();
  }

  static String slot(long slot) {
    return SlotNames.of(slot);
  }

  /** Flips a bit of a slot's content. */
  void damage(long slot) {
    String name = slot(slot);
    byte[] bytes = raw.read(name, 0, (int) raw.size(name).orElseThrow());
    bytes[40] ^= 1;
    raw.put(name, List.of(ByteBuffer.wrap(bytes)));
  }
}
