package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.spi.BlobStore;
import io.alluvium.testkit.MemoryDirectories;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.blob.FaultPlan;
import io.alluvium.testkit.s3.FaultDecision;
import io.alluvium.testkit.s3.FaultPolicy;
import io.alluvium.testkit.s3.FaultProxy;
import io.alluvium.testkit.s3.S3Server;
import io.alluvium.testkit.script.Script;
import io.alluvium.testkit.script.Scripts;
import io.alluvium.testkit.sim.RandomChoices;
import io.alluvium.testkit.sim.SimulatedBlobStore.Network;
import io.alluvium.testkit.sim.Simulation;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The scenario of {@link FaultSweepTest} on object storage: it runs once for each HTTP request that
 * it makes, which is lost on its way, or takes effect and its answer is lost, or is refused. Where
 * the SDK attempts requests again, the fault must not be noticed; where it does not, the protocol
 * above must cope. Afterwards the newest checkpoint restores exactly and every blob that is left is
 * one that a checkpoint names.
 */
final class S3FaultSweepTest {

  private static final List<FaultDecision> DECISIONS =
      List.of(
          new FaultDecision.Lost(),
          new FaultDecision.AnswerLost(),
          new FaultDecision.Refused(503, "SlowDown"));

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  @Test
  void anyOneRequest_thatSuffers_losesNothing() {
    try (FaultProxy proxy = FaultProxy.before(S3Server.get().endpoint())) {
      run(proxy, FaultPolicy.NONE, 3);
      int requests = proxy.requests();
      assertThat(requests).isGreaterThan(60);
      List<String> failures = new ArrayList<>();
      for (int number = 0; number < requests; number++) {
        for (int way = 0; way < 2 * DECISIONS.size(); way++) {
          // Each request suffers in one way, all in turn; with -Pfull in every way.
          if (Seeds.full() || way == number % (2 * DECISIONS.size())) {
            sweep(proxy, number, DECISIONS.get(way / 2), way % 2 == 0 ? 1 : 3, failures);
          }
        }
      }
      assertThat(failures).isEmpty();
    }
  }

  private void sweep(
      FaultProxy proxy, int number, FaultDecision decision, int attempts, List<String> failures) {
    int first = proxy.requests();
    List<String> suffered = new ArrayList<>();
    FaultPolicy policy =
        request -> {
          if (request.number() != first + number) {
            return FaultDecision.NONE;
          }
          suffered.add(request.method() + " " + request.target());
          return decision;
        };
    try {
      run(proxy, policy, attempts);
    } catch (AssertionError e) {
      failures.add(
          "request "
              + number
              + " "
              + suffered
              + ", attempts "
              + attempts
              + " -> "
              + decision
              + ": "
              + e);
    }
    assertThat(suffered).as("request %s of the scenario", number).hasSize(1);
  }

  private void run(FaultProxy proxy, FaultPolicy policy, int attempts) {
    Script script = FaultSweepTest.SCENARIO.after(List.of("set state.backend.type=heap"));
    try (Simulation simulation = new Simulation(new RandomChoices(4));
        BlobStore store =
            S3Stores.open(
                S3Server.freshUri(),
                proxy.endpoint(),
                Map.of("s3.request.max-attempts", Integer.toString(attempts)))) {
      proxy.policy(policy);
      Scripts.simulate(simulation, Network.RELIABLE, script, directory, new FaultPlan(), store);
    }
  }
}
