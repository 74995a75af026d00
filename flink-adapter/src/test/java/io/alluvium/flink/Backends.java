package io.alluvium.flink;

import org.apache.flink.configuration.Configuration;

/** The configurations of the backend that Flink's suites run over. */
enum Backends {
  /** RocksDB with the changelog: the default. */
  ROCKSDB_CHANGELOG("rocksdb", true),
  /** RocksDB with classic incremental checkpoints. */
  ROCKSDB_INCREMENTAL("rocksdb", false),
  HEAP_CHANGELOG("heap", true);

  private final String table;
  private final boolean changelog;

  Backends(String table, boolean changelog) {
    this.table = table;
    this.changelog = changelog;
  }

  Configuration configuration() {
    Configuration configuration = new Configuration();
    configuration.set(AlluviumOptions.TABLE, table);
    configuration.set(AlluviumOptions.CHANGELOG_ENABLED, changelog);
    // A test of a storage that fails need not wait.
    configuration.setString("dstl.dfs.upload.next-attempt-delay", "1 ms");
    return configuration;
  }

  AlluviumStateBackend backend() {
    return new AlluviumStateBackend().configure(configuration(), Backends.class.getClassLoader());
  }
}
