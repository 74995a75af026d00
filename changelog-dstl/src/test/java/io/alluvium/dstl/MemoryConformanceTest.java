package io.alluvium.dstl;

import io.alluvium.spi.ChangelogStorageProvider;
import io.alluvium.testkit.conformance.ChangelogConformance;

final class MemoryConformanceTest extends ChangelogConformance {

  @Override
  protected ChangelogStorageProvider provider() {
    return new MemoryStorageProvider();
  }

  @Override
  protected boolean storesBlobs() {
    return false;
  }
}
