package io.alluvium.rocksdb;

import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.TableProvider;
import java.util.List;

/** The table behind {@code state.backend.type=rocksdb}. Thread-safe. */
public final class RocksDbTableProvider implements TableProvider {

  /** RocksDB's own files, SST format version 5; see {@code docs/formats/rocksdb-table.md}. */
  static final String FORMAT = "rocksdb-sst-5";

  /** For {@link java.util.ServiceLoader}. */
  public RocksDbTableProvider() {}

  @Override
  public String name() {
    return "rocksdb";
  }

  @Override
  public String format() {
    return FORMAT;
  }

  @Override
  public List<Option<?>> options() {
    return RocksDbOptions.ALL;
  }

  @Override
  public Tables open(Configuration configuration, Execution execution, Metrics metrics) {
    NativeLibrary.load();
    return new RocksDbTables(configuration, execution, metrics, RocksDbHost.NONE);
  }

  /**
   * As {@link #open(Configuration, Execution, Metrics)}, inside an engine that knows RocksDB
   * itself.
   */
  public Tables open(
      Configuration configuration, Execution execution, Metrics metrics, RocksDbHost host) {
    NativeLibrary.load();
    return new RocksDbTables(configuration, execution, metrics, host);
  }
}
