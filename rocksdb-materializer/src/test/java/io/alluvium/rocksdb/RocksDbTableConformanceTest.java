package io.alluvium.rocksdb;

import io.alluvium.spi.TableProvider;
import io.alluvium.testkit.conformance.TableConformance;
import java.util.Map;
import org.junit.jupiter.api.Nested;

/** The RocksDB table passes the kit, as configured by default and with little memory. */
final class RocksDbTableConformanceTest {

  @Nested
  final class WithDefaults extends TableConformance {
    @Override
    protected TableProvider provider() {
      return new RocksDbTableProvider();
    }
  }

  /** Small buffers and files, so that flushes and compactions go on all the time. */
  @Nested
  final class WithLittleMemory extends TableConformance {
    @Override
    protected TableProvider provider() {
      return new RocksDbTableProvider();
    }

    @Override
    protected Map<String, String> settings() {
      return Map.of(
          RocksDbOptions.MEMORY.key(), "4 mb",
          RocksDbOptions.WRITE_BUFFER_SIZE.key(), "64 kb",
          RocksDbOptions.TARGET_FILE_SIZE.key(), "64 kb",
          RocksDbOptions.LEVEL_BASE_SIZE.key(), "1 mb",
          RocksDbOptions.WRITE_BATCH_SIZE.key(), "64 kb",
          RocksDbOptions.PARTITIONED_INDEX.key(), "true",
          RocksDbOptions.COMPRESSION.key(), "NO_COMPRESSION;LZ4_COMPRESSION");
    }
  }
}
