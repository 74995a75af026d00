package io.alluvium.flink;

/** RocksDB with classic incremental checkpoints. */
public class FlinkTtlSuiteIncrementalTest extends FlinkTtlSuite {

  public FlinkTtlSuiteIncrementalTest() {
    super(Backends.ROCKSDB_INCREMENTAL);
  }
}
