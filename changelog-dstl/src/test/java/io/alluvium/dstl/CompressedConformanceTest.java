package io.alluvium.dstl;

import io.alluvium.spi.ChangelogStorageProvider;
import io.alluvium.testkit.conformance.ChangelogConformance;
import java.util.Map;

/** The same with compression, and with segments so small that everything is cut up. */
final class CompressedConformanceTest extends ChangelogConformance {

  @Override
  protected ChangelogStorageProvider provider() {
    return new FileSystemStorageProvider();
  }

  @Override
  protected Map<String, String> settings() {
    return Map.of(
        "dstl.dfs.compression.enabled", "true",
        "dstl.dfs.batch.persist-size-threshold", "1 kb",
        "dstl.dfs.preemptive-persist-threshold", "2 kb",
        "dstl.dfs.upload.max-in-flight", "1 mb");
  }
}
