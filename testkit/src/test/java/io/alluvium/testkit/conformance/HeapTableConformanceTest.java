package io.alluvium.testkit.conformance;

import io.alluvium.internal.heap.HeapTableProvider;
import io.alluvium.spi.TableProvider;

final class HeapTableConformanceTest extends TableConformance {
  @Override
  protected TableProvider provider() {
    return new HeapTableProvider();
  }
}
