package io.alluvium.flink;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;

/** A keyed backend in an environment of its own; closing checks that nothing stays reserved. */
final class TestKeyedBackend<K> implements AutoCloseable {

  private final MockEnvironment environment;
  private final AbstractKeyedStateBackend<K> backend;

  private final Counters counters;

  private TestKeyedBackend(
      MockEnvironment environment, AbstractKeyedStateBackend<K> backend, Counters counters) {
    this.environment = environment;
    this.backend = backend;
    this.counters = counters;
  }

  /** Keeps the counters of all groups together, by name. */
  private static final class Counters extends UnregisteredMetricsGroup {
    private final Map<String, Counter> all = new ConcurrentHashMap<>();

    @Override
    public <C extends Counter> C counter(String name, C counter) {
      all.put(name, counter);
      return counter;
    }

    @Override
    public MetricGroup addGroup(String name) {
      return this;
    }
  }

  static <K> TestKeyedBackend<K> open(
      Backends kind, TypeSerializer<K> keySerializer, KeyGroupRange keyGroups) {
    return open(
        kind,
        keySerializer,
        keyGroups,
        keyGroups.getEndKeyGroup() + 1,
        TtlTimeProvider.DEFAULT,
        List.of());
  }

  static <K> TestKeyedBackend<K> open(
      Backends kind,
      TypeSerializer<K> keySerializer,
      KeyGroupRange keyGroups,
      int numberOfKeyGroups,
      TtlTimeProvider time,
      Collection<KeyedStateHandle> handles) {
    return open(
        kind.configuration(),
        new MockEnvironmentBuilder().build(),
        new Parameters<>(keySerializer, keyGroups, numberOfKeyGroups, time, handles));
  }

  /** What differs between backends. */
  record Parameters<K>(
      TypeSerializer<K> keySerializer,
      KeyGroupRange keyGroups,
      int numberOfKeyGroups,
      TtlTimeProvider time,
      Collection<KeyedStateHandle> handles) {}

  /** Owns the environment. */
  static <K> TestKeyedBackend<K> open(
      Configuration configuration, MockEnvironment environment, Parameters<K> wanted) {
    return open(configuration, environment, wanted, KeyedBackendBuilder.Between.NOTHING);
  }

  /** Owns the environment. */
  static <K> TestKeyedBackend<K> open(
      Configuration configuration,
      MockEnvironment environment,
      Parameters<K> wanted,
      KeyedBackendBuilder.Between between) {
    Counters counters = new Counters();
    try {
      return new TestKeyedBackend<>(
          environment,
          new AlluviumStateBackend()
              .configure(configuration, TestKeyedBackend.class.getClassLoader())
              .createKeyedStateBackend(
                  new KeyedStateBackendParametersImpl<>(
                      environment,
                      new JobID(),
                      "test",
                      wanted.keySerializer(),
                      wanted.numberOfKeyGroups(),
                      wanted.keyGroups(),
                      environment.getTaskKvStateRegistry(),
                      wanted.time(),
                      counters,
                      wanted.handles(),
                      new CloseableRegistry()),
                  between),
          counters);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  /** The value of a metric; 0 when there is none of that name. */
  long counter(String name) {
    Counter counter = counters.all.get(name);
    return counter == null ? 0 : counter.getCount();
  }

  AbstractKeyedStateBackend<K> get() {
    return backend;
  }

  @Override
  public void close() {
    try {
      backend.close();
      backend.dispose();
      environment.close();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
