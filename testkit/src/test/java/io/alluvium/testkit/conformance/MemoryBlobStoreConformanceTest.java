package io.alluvium.testkit.conformance;

import io.alluvium.internal.blob.MemoryBlobStore;
import io.alluvium.spi.BlobStore;

class MemoryBlobStoreConformanceTest extends BlobStoreConformance {

  @Override
  protected BlobStore open() {
    return new MemoryBlobStore(new MemoryBlobStore.Content(), "memory:", () -> 0L);
  }
}
