package io.alluvium.dstl;

import io.alluvium.spi.ChangelogStorageProvider;
import io.alluvium.testkit.conformance.ChangelogConformance;

final class FileSystemConformanceTest extends ChangelogConformance {

  @Override
  protected ChangelogStorageProvider provider() {
    return new FileSystemStorageProvider();
  }
}
