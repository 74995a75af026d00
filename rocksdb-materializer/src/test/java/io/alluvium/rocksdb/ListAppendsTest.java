package io.alluvium.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.alluvium.serializer.ByteWriter;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Table;
import io.alluvium.spi.TableSnapshot;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.Options;
import org.rocksdb.RocksDBException;
import org.rocksdb.SstFileReader;
import org.rocksdb.TableProperties;

/** What many appends to one key cost: time in proportion to them, wherever they are joined. */
final class ListAppendsTest {

  private static final byte[] KEY = TestTables.key(3, 1, "hot");
  private static final int OPERAND_BYTES = 17;
  private static final int FEW = 5_000;
  private static final int GROWTH = 8;

  @TempDir Path directory;

  /**
   * Eight times the appends cost about eight times as much processor time, and would cost 64 times
   * as much if each append copied what is there. Three times the proportion is allowed, so that
   * only the growth can fail, not a slow machine; the least of several attempts counts.
   */
  @Test
  void get_moreAppends_costsInProportion() {
    Map<String, String> oneBuffer =
        Map.of(
            RocksDbOptions.MEMORY.key(), "128 mb", RocksDbOptions.WRITE_BUFFER_SIZE.key(), "64 mb");
    try (TestTables tables = new TestTables(directory, oneBuffer, Metrics.NONE)) {
      long few = leastNanosOfGet(appended(tables.open(), FEW), FEW);
      long many = leastNanosOfGet(appended(tables.open(), FEW * GROWTH), FEW * GROWTH);
      assertThat(many)
          .as("nanoseconds for %s appends, %s for %s", FEW * GROWTH, few, FEW)
          .isLessThan(3 * GROWTH * few);
    }
  }

  private static Table appended(Table table, int appends) {
    byte[] operand = new byte[OPERAND_BYTES];
    for (int i = 0; i < appends; i++) {
      table.merge(KEY, KEY.length, operand, operand.length);
    }
    return table;
  }

  private static long leastNanosOfGet(Table table, int appends) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    ByteWriter into = new ByteWriter(appends * OPERAND_BYTES);
    long least = Long.MAX_VALUE;
    for (int attempt = 0; attempt < 5; attempt++) {
      long before = threads.getCurrentThreadCpuTime();
      assertThat(table.get(KEY, KEY.length, into)).isTrue();
      least = Math.min(least, threads.getCurrentThreadCpuTime() - before);
      assertThat(into.length()).isEqualTo(appends * OPERAND_BYTES);
    }
    return least;
  }

  /** A flush that joins operands copies them again for each one; it must write them as they are. */
  @Test
  void flush_manyAppends_joinsNone() throws RocksDBException {
    try (TestTables tables = new TestTables(directory)) {
      Table table = appended(tables.open(), 1_000);
      long operands = 0;
      for (TableSnapshot.File file : table.snapshotNow(tables.fresh()).files()) {
        if (file.immutable()) {
          operands += operands(file.path());
        }
      }
      assertThat(operands).isEqualTo(1_000);
    }
  }

  private static long operands(Path file) throws RocksDBException {
    try (Options options = new Options();
        SstFileReader reader = new SstFileReader(options)) {
      reader.open(file.toString());
      TableProperties properties = reader.getTableProperties();
      return properties.getNumMergeOperands();
    }
  }
}
