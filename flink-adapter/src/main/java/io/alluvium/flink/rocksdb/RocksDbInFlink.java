package io.alluvium.flink.rocksdb;

import io.alluvium.config.Configuration;
import io.alluvium.rocksdb.RocksDbHost;
import io.alluvium.rocksdb.RocksDbTableProvider;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.TableProvider;
import java.math.BigInteger;
import java.util.Collection;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.state.rocksdb.RocksDBOptionsFactory;
import org.apache.flink.state.rocksdb.RocksDBProperty;
import org.jspecify.annotations.Nullable;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.ReadOptions;
import org.rocksdb.TickerType;
import org.rocksdb.WriteOptions;

/**
 * The RocksDB tables of one keyed backend in a task of Flink. Thread-safe.
 *
 * <p>Flink's metrics have a group for each of its column families, which are states. A table of
 * Alluvium is one column family, {@code data}.
 */
public final class RocksDbInFlink implements RocksDbHost {

  private static final String COLUMN_FAMILY_KEY = "column_family";
  private static final String COLUMN_FAMILY = "data";

  private final RocksDbMemory memory;
  private final NativeOptions options;
  private final MetricGroup group;
  private final BooleanSupplier checksDisk;
  private final @Nullable RocksDBOptionsFactory factory;

  private RocksDbInFlink(
      RocksDbMemory memory, NativeOptions options, MetricGroup group, BooleanSupplier checksDisk) {
    this.memory = memory;
    this.options = options;
    this.group = group;
    this.checksDisk = checksDisk;
    this.factory = options.factory();
  }

  /** What surrounds the tables of a keyed backend. */
  public record Surroundings(Configuration configuration, Execution execution, Metrics metrics) {}

  /**
   * Opens tables; the caller closes them, and the memory after them.
   *
   * @param group of the operator
   * @param checksDisk whether the disk should be looked at
   */
  public static TableProvider.Tables open(
      Surroundings around,
      RocksDbMemory memory,
      NativeOptions options,
      MetricGroup group,
      BooleanSupplier checksDisk) {
    return new RocksDbTableProvider()
        .open(
            around.configuration(),
            around.execution(),
            around.metrics(),
            new RocksDbInFlink(memory, options, group, checksDisk));
  }

  @Override
  public Optional<Memory> memory() {
    return Optional.of(memory.memory());
  }

  @Override
  public boolean checksDisk() {
    return checksDisk.getAsBoolean();
  }

  @Override
  public DBOptions database(DBOptions given, Collection<AutoCloseable> handles) {
    return factory == null ? given : factory.createDBOptions(given, handles);
  }

  @Override
  public ColumnFamilyOptions columnFamily(
      ColumnFamilyOptions given, Collection<AutoCloseable> handles) {
    return factory == null ? given : factory.createColumnOptions(given, handles);
  }

  @Override
  public ReadOptions reads(ReadOptions given, Collection<AutoCloseable> handles) {
    return factory == null ? given : factory.createReadOptions(given, handles);
  }

  @Override
  public WriteOptions writes(WriteOptions given, Collection<AutoCloseable> handles) {
    return factory == null ? given : factory.createWriteOptions(given, handles);
  }

  @Override
  public Set<TickerType> tickers() {
    return Set.copyOf(options.metrics().getMonitorTickerTypes());
  }

  @Override
  public void opened(Readings readings) {
    MetricGroup ofColumnFamily =
        options.metrics().isColumnFamilyAsVariable()
            ? group.addGroup(COLUMN_FAMILY_KEY, COLUMN_FAMILY)
            : group.addGroup(COLUMN_FAMILY);
    for (RocksDBProperty property : options.metrics().getProperties()) {
      String name = property.getRocksDBProperty();
      // As in Flink, whose dashboards may expect more than a long holds.
      Gauge<BigInteger> gauge =
          () -> new BigInteger(Long.toUnsignedString(readings.property(name)));
      ofColumnFamily.gauge(name, gauge);
    }
    for (TickerType type : options.metrics().getMonitorTickerTypes()) {
      Gauge<Long> gauge = () -> readings.ticker(type);
      group.gauge("rocksdb." + type.name().toLowerCase(Locale.ROOT), gauge);
    }
  }
}
