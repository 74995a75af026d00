package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.CheckpointHandle;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import io.alluvium.spi.Metrics;
import io.alluvium.state.StateDescriptor;
import io.alluvium.testkit.MemoryDirectories;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.sim.InOrder;
import io.alluvium.testkit.sim.SimulatedBlobStore.Network;
import io.alluvium.testkit.sim.SimulatedProcess;
import io.alluvium.testkit.sim.Simulation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A whole backend whose materializations may store next to nothing in a second. */
final class PacedMaterializationTest {

  private static final int GROUPS = 4;
  private static final int VALUE_BYTES = 3 << 20;

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  private final Simulation simulation = new Simulation(new InOrder());
  private final SimulatedProcess process = simulation.process("P");
  private final MapBlobStore blobs = new MapBlobStore();

  @Test
  void pacedUpload_holdsUpNeitherCheckpointsNorTheEnd() {
    process.spawn("main", this::run);
    simulation.run();
  }

  private void run() {
    Map<String, String> settings = new HashMap<>();
    settings.put("state.checkpoints.dir", "memory:");
    settings.put("state.backend.type", "heap");
    settings.put("state.backend.rocksdb.localdir", directory.toString());
    settings.put("state.backend.changelog.periodic-materialize.interval", "10s");
    settings.put("alluvium.materialize.max-bandwidth", "1 kb");
    settings.put("alluvium.restore.time-objective", "0");
    StateBackend backend =
        StateBackend.open(
            settings,
            new Components(
                java.util.Optional.of(process.store(blobs, Network.RELIABLE)),
                java.util.Optional.of(process.execution()),
                new Random(1),
                Metrics.NONE));
    backend.catalog().takeOver("job");
    KeyedBackend<Integer> keyed =
        backend.keyed(Serializers.int32(), GROUPS, new KeyGroupRange(0, GROUPS));
    for (int round = 1; round <= 3; round++) {
      keyed.setCurrentKey(1);
      keyed
          .state(StateDescriptor.value("v", Serializers.bytes()))
          .update(new byte[VALUE_BYTES + round]);
      double start = now();
      CheckpointHandle handle = process.execution().await(keyed.checkpoint(round));
      backend.catalog().commit(round, List.of(handle), new byte[0]);
      keyed.confirm(round);
      assertThat(now() - start).as("checkpoint %s", round).isLessThan(1);
      for (int i = 0; i < 20; i++) {
        keyed.idle();
        process.execution().sleep(Duration.ofSeconds(1));
      }
    }
    // The first went at once; the second waits for about an hour.
    assertThat(blobs.content().keySet()).filteredOn(name -> name.endsWith(".table")).hasSize(1);
    double start = now();
    backend.close();
    assertThat(now() - start).isLessThan(1);
  }

  private double now() {
    return process.execution().nanoTime() / 1e9;
  }
}
