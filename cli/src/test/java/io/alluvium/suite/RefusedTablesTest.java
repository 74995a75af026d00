package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.RestoreMode;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import io.alluvium.testkit.MemoryDirectories;
import io.alluvium.testkit.blob.BlobOp;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A store that takes everything but files of tables, for good, while the changelog has long become
 * too long to replay: what is tried again for that follows the pauses, not the checkpoints.
 */
final class RefusedTablesTest {

  private static final int COMMITS = 2_000;
  private static final KeyGroupRange ALL = new KeyGroupRange(0, 4);

  private final FaultPlan faults = new FaultPlan();

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  @Test
  void checkpoints_tableFilesRefusedForGood_askNoMoreOfTheStore() {
    try (SimulatedDeployment deployment =
        new SimulatedDeployment(
            new Simulation(new InOrder()),
            new MapBlobStore(),
            Network.RELIABLE,
            directory,
            faults)) {
      deployment.run(() -> run(deployment));
    }
  }

  private void run(SimulatedDeployment deployment) {
    StateBackend backend =
        deployment.start(
            Map.of(
                "state.checkpoints.dir", "memory:",
                "state.backend.type", "heap",
                "alluvium.restore.time-objective", "1ms"));
    backend.catalog().takeOver("job");
    KeyedBackend<String> keyed =
        backend.keyed(Serializers.string(), 4, ALL, List.of(), RestoreMode.REUSE);
    ValueState<String> value = keyed.state(StateDescriptor.value("v", Serializers.string()));
    commit(deployment, backend, keyed, value, 1);
    deployment.fault("fail before put data/*.table");
    int[] calls = new int[2];
    for (int half = 0; half < 2; half++) {
      faults.clearCalls();
      for (int i = 0; i < COMMITS / 2; i++) {
        commit(deployment, backend, keyed, value, 2 + half * COMMITS / 2 + i);
        deployment.sleep(Duration.ofSeconds(1));
      }
      calls[half] = faults.calls().size();
      assertThat(
              faults.calls().stream()
                  .filter(call -> call.op() == BlobOp.PUT && call.name().endsWith(".table")))
          .as("files of tables in %s seconds", COMMITS / 2)
          .hasSizeBetween(1, 15);
    }
    assertThat(calls[1]).as("against %s before", calls[0]).isLessThanOrEqualTo(calls[0] + 10);
    deployment.heal();
    deployment.sleep(Duration.ofMinutes(11));
    commit(deployment, backend, keyed, value, COMMITS + 2);
    deployment.sleep(Duration.ofMinutes(11));
    CheckpointHandle last = commit(deployment, backend, keyed, value, COMMITS + 3);
    assertThat(last.tail()).as("blocks since the materialization").hasSizeLessThan(5);
    keyed.close();
    backend.close();
  }

  private static CheckpointHandle commit(
      SimulatedDeployment deployment,
      StateBackend backend,
      KeyedBackend<String> keyed,
      ValueState<String> value,
      long id) {
    keyed.setCurrentKey("k" + id % 100);
    value.update("value".repeat(100) + id);
    CheckpointHandle handle = deployment.await(keyed.checkpoint(id));
    var unused = backend.catalog().commit(id, List.of(handle), new byte[0]);
    keyed.confirm(id);
    return handle;
  }
}
