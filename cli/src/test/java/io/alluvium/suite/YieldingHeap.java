package io.alluvium.suite;

import io.alluvium.testkit.sim.YieldingTableProvider;

/** Heap tables with scheduling points; made by {@code ServiceLoader}. */
public final class YieldingHeap extends YieldingTableProvider {
  public YieldingHeap() {
    super("heap");
  }
}
