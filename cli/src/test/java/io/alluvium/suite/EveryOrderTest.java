package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.testkit.MemoryDirectories;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.blob.FaultPlan;
import io.alluvium.testkit.script.Script;
import io.alluvium.testkit.script.Scripts;
import io.alluvium.testkit.sim.Explorer;
import io.alluvium.testkit.sim.SimulatedBlobStore.Network;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A small history of one backend in every order within bounds: task, uploader, materializer and
 * garbage collection interleave at every write, snapshot, call of the blob store and answer, as in
 * models/checkpoints.py.
 */
final class EveryOrderTest {

  private static final Script HISTORY =
      Script.parse(
          """
          set state.backend.type=yielding-heap
          set alluvium.restore.time-objective=1us
          set state.backend.changelog.periodic-materialize.interval=0
          restore into 1 subtasks
          list.add l x1
          checkpoint 1
          list.add l x2
          list.add l x3
          checkpoint 2
          list.update l x4
          confirm 2
          list.add l x5
          kill
          restore into 1 subtasks
          """);

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  @Test
  void history_inEveryOrder_equalsTheModel() {
    Explorer.Outcome outcome =
        Explorer.explore(
            Explorer.Bounds.delays(Seeds.full() ? 2 : 1, 0, 100_000),
            simulation ->
                Scripts.simulate(
                    simulation, Network.RELIABLE, HISTORY, directory, new FaultPlan()));
    assertThat(outcome.runs()).isGreaterThan(100);
    assertThat(outcome.exhausted()).isTrue();
  }
}
