package io.alluvium.testkit.conformance;

import io.alluvium.spi.TableProvider;

final class PlainTableTest extends TableConformance {
  @Override
  protected TableProvider provider() {
    return new PlainTableProvider();
  }
}
