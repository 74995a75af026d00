package io.alluvium.flink;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.flink.rocksdb.NativeOptions;
import io.alluvium.spi.Metrics;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.state.rocksdb.RocksDBNativeMetricOptions;
import org.junit.jupiter.api.Test;

/** RocksDB's own metrics have Flink's names and tell what happened. */
final class NativeMetricsTest {

  private static final int KEYS = 1_000;
  private static final String VALUE = "v".repeat(100);

  /** Gauges by their path below the operator. */
  private static final class Gauges extends UnregisteredMetricsGroup {
    private final String path;
    private final Map<String, Gauge<?>> all;

    Gauges() {
      this("", new TreeMap<>());
    }

    private Gauges(String path, Map<String, Gauge<?>> all) {
      this.path = path;
      this.all = all;
    }

    @Override
    public <T, G extends Gauge<T>> G gauge(String name, G gauge) {
      all.put(path + name, gauge);
      return gauge;
    }

    @Override
    public MetricGroup addGroup(String name) {
      return new Gauges(path + name + "/", all);
    }

    @Override
    public MetricGroup addGroup(String key, String value) {
      return new Gauges(path + key + "=" + value + "/", all);
    }

    long get(String name) {
      return ((Number) Objects.requireNonNull(all.get(name), name).getValue()).longValue();
    }
  }

  private static AbstractKeyedStateBackend<Integer> open(
      Configuration configuration, MockEnvironment environment, MetricGroup group)
      throws Exception {
    return new AlluviumStateBackend()
        .configure(configuration, NativeMetricsTest.class.getClassLoader())
        .createKeyedStateBackend(
            new KeyedStateBackendParametersImpl<>(
                environment,
                new JobID(),
                "test",
                IntSerializer.INSTANCE,
                2,
                KeyGroupRange.of(0, 1),
                environment.getTaskKvStateRegistry(),
                TtlTimeProvider.DEFAULT,
                group,
                List.of(),
                new CloseableRegistry()));
  }

  private static void write(AbstractKeyedStateBackend<Integer> backend) throws Exception {
    ValueState<String> state =
        backend.getPartitionedState(
            VoidNamespace.INSTANCE,
            VoidNamespaceSerializer.INSTANCE,
            new ValueStateDescriptor<>("words", StringSerializer.INSTANCE));
    for (int i = 0; i < KEYS; i++) {
      backend.setCurrentKey(i);
      state.update(VALUE);
    }
  }

  private static Configuration every(boolean columnFamilyAsVariable) {
    Configuration configuration = new Configuration();
    for (String key : NativeOptions.metricKeys()) {
      configuration.setString(key, "true");
    }
    configuration.set(RocksDBNativeMetricOptions.COLUMN_FAMILY_AS_VARIABLE, columnFamilyAsVariable);
    // Never by time.
    configuration.setString("alluvium.changelog.periodic-materialize.interval", "0 s");
    return configuration;
  }

  @Test
  void everyMetric_hasFlinksName_andAValue_andIsZeroAfterwards() throws Exception {
    RocksDBNativeMetricOptions wanted = RocksDBNativeMetricOptions.fromConfig(every(true));
    Gauges gauges = new Gauges();
    MockEnvironment environment = new MockEnvironmentBuilder().build();
    var backend = open(every(true), environment, gauges);
    write(backend);
    String columnFamily = "column_family=data/";
    wanted
        .getProperties()
        .forEach(
            property ->
                assertThat(gauges.get(columnFamily + property.getRocksDBProperty()))
                    .as(property.name())
                    .isNotNegative());
    assertThat(wanted.getProperties()).hasSize(33);
    wanted
        .getMonitorTickerTypes()
        .forEach(
            type ->
                assertThat(gauges.get("rocksdb." + type.name().toLowerCase(Locale.ROOT)))
                    .as(type.name())
                    .isNotNegative());
    assertThat(wanted.getMonitorTickerTypes()).hasSize(11);
    assertThat(gauges.get(columnFamily + "rocksdb.estimate-num-keys")).isEqualTo(KEYS);
    assertThat(gauges.get(columnFamily + "rocksdb.block-cache-capacity")).isPositive();
    assertThat(gauges.get("rocksdb.bytes_written")).isGreaterThan((long) KEYS * VALUE.length());
    assertThat(gauges.get("alluvium/rocksdb.memtables.bytes"))
        .isGreaterThan((long) KEYS * VALUE.length());
    // Nothing was materialized, and RocksDB's sizes come in blocks, the log's do not.
    assertThat(gauges.get("alluvium/changelog.unmaterialized.bytes"))
        .isGreaterThan((long) KEYS * VALUE.getBytes(StandardCharsets.UTF_8).length);
    backend.dispose();
    gauges.all.forEach(
        (name, gauge) -> {
          boolean ofRocksDb = name.contains("rocksdb.") && !name.endsWith("capacity.bytes");
          if (ofRocksDb || name.endsWith("unmaterialized.bytes")) {
            assertThat(((Number) gauge.getValue()).longValue()).as(name).isZero();
          }
        });
    environment.close();
  }

  @Test
  void columnFamily_isAGroup_unlessItIsAVariable() throws Exception {
    Gauges gauges = new Gauges();
    MockEnvironment environment = new MockEnvironmentBuilder().build();
    var backend = open(every(false), environment, gauges);
    write(backend);
    assertThat(gauges.get("data/rocksdb.estimate-num-keys")).isEqualTo(KEYS);
    backend.dispose();
    environment.close();
  }

  @Test
  void nothing_isRegisteredUnderFlinksNames_unlessItIsWanted() throws Exception {
    Gauges gauges = new Gauges();
    MockEnvironment environment = new MockEnvironmentBuilder().build();
    open(new Configuration(), environment, gauges).dispose();
    assertThat(gauges.all.keySet()).allMatch(name -> name.startsWith("alluvium/"));
    environment.close();
  }

  @Test
  void restore_isInFlinksMetricsOfTheInitialization() {
    Map<String, Long> initialization = new TreeMap<>();
    Metrics metrics =
        new FlinkMetrics(new UnregisteredMetricsGroup(), initialization::put).ofCore();
    metrics.histogram("restore.download.millis").record(30);
    metrics.histogram("restore.open.millis").record(40);
    metrics.histogram("restore.total.millis").record(100);
    assertThat(initialization)
        .isEqualTo(Map.of("DownloadStateDurationMs", 30L, "RestoreStateDurationMs", 70L));
  }
}
