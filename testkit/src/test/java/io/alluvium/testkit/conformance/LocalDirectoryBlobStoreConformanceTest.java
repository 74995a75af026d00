package io.alluvium.testkit.conformance;

import io.alluvium.internal.blob.LocalDirectoryBlobStore;
import io.alluvium.spi.BlobStore;

class LocalDirectoryBlobStoreConformanceTest extends BlobStoreConformance {

  @Override
  protected BlobStore open() {
    return new LocalDirectoryBlobStore(directory.resolve("store"), "file:store");
  }
}
