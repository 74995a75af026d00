package io.alluvium.flink;

/** RocksDB with the changelog. */
public class FlinkTtlSuiteRocksDbTest extends FlinkTtlSuite {

  public FlinkTtlSuiteRocksDbTest() {
    super(Backends.ROCKSDB_CHANGELOG);
  }
}
