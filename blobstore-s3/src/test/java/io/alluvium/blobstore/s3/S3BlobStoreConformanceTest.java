package io.alluvium.blobstore.s3;

import io.alluvium.spi.BlobStore;
import io.alluvium.testkit.conformance.BlobStoreConformance;
import java.util.Map;

class S3BlobStoreConformanceTest extends BlobStoreConformance {

  @Override
  protected BlobStore open() {
    return TestServer.open(Map.of());
  }
}
