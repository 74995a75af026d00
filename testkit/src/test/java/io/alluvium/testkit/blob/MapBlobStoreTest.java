package io.alluvium.testkit.blob;

import io.alluvium.spi.BlobStore;
import io.alluvium.testkit.conformance.BlobStoreConformance;

final class MapBlobStoreTest extends BlobStoreConformance {
  @Override
  protected BlobStore open() {
    return new MapBlobStore();
  }
}
