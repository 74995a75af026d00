package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.CheckpointCatalog.Commit;
import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.spi.BlobName;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import io.alluvium.testkit.MemoryDirectories;
import io.alluvium.testkit.blob.FaultPlan;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.script.SimulatedDeployment;
import io.alluvium.testkit.sim.InOrder;
import io.alluvium.testkit.sim.SimulatedBlobStore.Network;
import io.alluvium.testkit.sim.Simulation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Commit, close the keyed backends, collect, close: what is left then. */
final class CleanEndTest {

  private static final KeyGroupRange ALL = new KeyGroupRange(0, 4);

  private final FaultPlan faults = new FaultPlan();

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  /** Changes after the last checkpoint are on their way into the store when the job ends. */
  @ParameterizedTest
  @ValueSource(strings = {"delay 3s put data/*", "delay 8s put data/*"})
  void segmentUnderWayAtTheEnd_isNotLeftBehind(String slowness) {
    Simulation simulation = new Simulation(new InOrder());
    try (SimulatedDeployment deployment =
        new SimulatedDeployment(
            simulation, new MapBlobStore(), Network.RELIABLE, directory, faults)) {
      deployment.run(() -> runToACleanEnd(deployment, slowness));
    }
  }

  private void runToACleanEnd(SimulatedDeployment deployment, String slowness) {
    StateBackend backend =
        deployment.start(
            Map.of(
                "state.checkpoints.dir", "memory:",
                "state.backend.type", "heap",
                "dstl.dfs.preemptive-persist-threshold", "1 kb"));
    backend.catalog().takeOver("job");
    KeyedBackend<String> keyed =
        backend.keyed(Serializers.string(), 4, ALL, List.of(), RestoreMode.REUSE);
    ValueState<String> value = keyed.state(StateDescriptor.value("v", Serializers.string()));
    keyed.setCurrentKey("k");
    value.update("counts");
    CheckpointHandle handle = deployment.await(keyed.checkpoint(1));
    Commit unused = backend.catalog().commit(1, List.of(handle), new byte[0]);
    keyed.confirm(1);

    deployment.fault(slowness);
    value.update("too late".repeat(50_000));
    value.update("too late, too");
    deployment.sleep(Duration.ofMillis(1_500));
    assertThat(deployment.blobs(BlobName.PREFIX)).as("not there yet").hasSize(1);
    assertThat(faults.trace())
        .as("under way")
        .anyMatch(call -> call.startsWith("put data/") && call.contains("delay"));
    keyed.close();
    backend.catalog().collectGarbage();
    deployment.sleep(Duration.ofSeconds(30));
    assertThat(deployment.blobs(BlobName.PREFIX))
        .containsExactlyElementsOf(handle.blobs().stream().map(BlobName::toString).toList());
    backend.close();
  }
}
