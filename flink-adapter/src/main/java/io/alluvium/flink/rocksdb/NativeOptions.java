package io.alluvium.flink.rocksdb;

import java.io.Serializable;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Set;
import java.util.TreeSet;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.state.rocksdb.ConfigurableRocksDBOptionsFactory;
import org.apache.flink.state.rocksdb.RocksDBNativeMetricOptions;
import org.apache.flink.state.rocksdb.RocksDBOptions;
import org.apache.flink.state.rocksdb.RocksDBOptionsFactory;
import org.jspecify.annotations.Nullable;

/**
 * What a job says to Flink's RocksDB backend in Flink's own types. Immutable; travels with the job.
 *
 * @param factory changes RocksDB's options
 * @param metrics which of RocksDB's metrics are wanted
 */
public record NativeOptions(
    @Nullable RocksDBOptionsFactory factory, RocksDBNativeMetricOptions metrics)
    implements Serializable {

  /**
   * Reads them from a job's configuration, and makes its factory.
   *
   * @param classLoader finds the job's classes
   */
  public static NativeOptions of(ReadableConfig config, ClassLoader classLoader) {
    RocksDBOptionsFactory factory =
        config
            .getOptional(RocksDBOptions.OPTIONS_FACTORY)
            .map(name -> factory(name, config, classLoader))
            .orElse(null);
    RocksDBNativeMetricOptions metrics = RocksDBNativeMetricOptions.fromConfig(config);
    return new NativeOptions(
        factory, factory == null ? metrics : factory.createNativeMetricsOptions(metrics));
  }

  private static RocksDBOptionsFactory factory(
      String name, ReadableConfig config, ClassLoader classLoader) {
    try {
      RocksDBOptionsFactory factory =
          Class.forName(name, false, classLoader)
              .asSubclass(RocksDBOptionsFactory.class)
              .getDeclaredConstructor()
              .newInstance();
      return factory instanceof ConfigurableRocksDBOptionsFactory configurable
          ? configurable.configure(config)
          : factory;
    } catch (ReflectiveOperationException | ClassCastException e) {
      throw new IllegalConfigurationException(
          "The class '"
              + name
              + "' of '"
              + RocksDBOptions.OPTIONS_FACTORY.key()
              + "' must be found in the job's jar or in Flink's lib/, implement "
              + RocksDBOptionsFactory.class.getName()
              + " and have a public constructor without arguments",
          e);
    }
  }

  /** The keys of all metrics that this Flink knows. */
  public static Set<String> metricKeys() {
    Set<String> keys = new TreeSet<>();
    for (Field field : RocksDBNativeMetricOptions.class.getFields()) {
      if (Modifier.isStatic(field.getModifiers()) && field.getType() == ConfigOption.class) {
        try {
          keys.add(((ConfigOption<?>) field.get(null)).key());
        } catch (IllegalAccessException e) {
          throw new IllegalStateException("a public field cannot be read: " + field, e);
        }
      }
    }
    return keys;
  }
}
