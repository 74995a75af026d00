package io.alluvium.suite;

import io.alluvium.testkit.sim.YieldingTableProvider;

/** RocksDB tables with scheduling points; made by {@code ServiceLoader}. */
public final class YieldingRocksDb extends YieldingTableProvider {
  public YieldingRocksDb() {
    super("rocksdb");
  }
}
