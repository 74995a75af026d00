package org.apache.flink.test.state;

import io.alluvium.flink.AlluviumOptions;
import io.alluvium.flink.AlluviumStateBackend;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.CheckpointableKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.test.state.BackendSwitchSpecs.BackendSwitchSpec;
import org.apache.flink.testutils.junit.extensions.parameterized.ParameterizedTestExtension;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameters;
import org.junit.jupiter.api.extension.ExtendWith;

/** Flink's own suite of portable savepoints: from each backend to each other, ours and Flink's. */
@ExtendWith(ParameterizedTestExtension.class)
public class AlluviumSavepointSwitchSuiteTest extends SavepointStateBackendSwitchTestBase {

  /** A keyed backend of ours. */
  private static final class Alluvium implements BackendSwitchSpec {

    private final String table;
    private final List<MockEnvironment> environments = new ArrayList<>();

    Alluvium(String table) {
      this.table = table;
    }

    @Override
    public CheckpointableKeyedStateBackend<String> createBackend(
        KeyGroupRange keyGroupRange, int numKeyGroups, Collection<KeyedStateHandle> stateHandles)
        throws Exception {
      MockEnvironment environment = new MockEnvironmentBuilder().build();
      environments.add(environment);
      Configuration configuration = new Configuration();
      configuration.set(AlluviumOptions.TABLE, table);
      return new AlluviumStateBackend()
          .configure(configuration, Alluvium.class.getClassLoader())
          .createKeyedStateBackend(
              new KeyedStateBackendParametersImpl<>(
                  environment,
                  new JobID(),
                  "test",
                  StringSerializer.INSTANCE,
                  numKeyGroups,
                  keyGroupRange,
                  environment.getTaskKvStateRegistry(),
                  TtlTimeProvider.DEFAULT,
                  new UnregisteredMetricsGroup(),
                  stateHandles,
                  new CloseableRegistry()));
    }

    @Override
    public void close() {
      environments.clear();
    }

    @Override
    public String toString() {
      return "ALLUVIUM " + table;
    }
  }

  public AlluviumSavepointSwitchSuiteTest(BackendSwitchSpec from, BackendSwitchSpec to) {
    super(from, to);
  }

  @Parameters(name = "from: {0} to: {1}")
  public static Collection<BackendSwitchSpec[]> pairs() {
    List<BackendSwitchSpec[]> pairs = new ArrayList<>();
    for (String table : List.of("rocksdb", "heap")) {
      for (BackendSwitchSpec flink :
          List.of(
              BackendSwitchSpecs.HEAP,
              BackendSwitchSpecs.ROCKS,
              BackendSwitchSpecs.ROCKS_HEAP_TIMERS)) {
        pairs.add(new BackendSwitchSpec[] {new Alluvium(table), flink});
        pairs.add(new BackendSwitchSpec[] {flink, new Alluvium(table)});
      }
      for (String other : List.of("rocksdb", "heap")) {
        pairs.add(new BackendSwitchSpec[] {new Alluvium(table), new Alluvium(other)});
      }
    }
    return pairs;
  }
}
