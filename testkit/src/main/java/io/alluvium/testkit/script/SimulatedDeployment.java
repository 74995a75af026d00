package io.alluvium.testkit.script;

import io.alluvium.Components;
import io.alluvium.StateBackend;
import io.alluvium.config.CoreOptions;
import io.alluvium.config.Durations;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Metrics;
import io.alluvium.testkit.blob.FaultPlan;
import io.alluvium.testkit.blob.FaultyBlobStore;
import io.alluvium.testkit.sim.SimulatedBlobStore;
import io.alluvium.testkit.sim.SimulatedProcess;
import io.alluvium.testkit.sim.Simulation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Runs the job in processes of a simulation. The script runs in an actor of a process of its own,
 * which is never killed. Used only by the actor whose turn it is.
 */
public final class SimulatedDeployment implements Deployment {

  private static final String INTERVAL_KEY =
      "state.backend.changelog.periodic-materialize.interval";

  private final Simulation simulation;
  private final BlobStore blobs;
  private final SimulatedBlobStore.Network network;
  private final Path directory;
  private final SimulatedProcess driver;
  private final FaultPlan faults;
  private @Nullable SimulatedProcess current;
  private @Nullable StateBackend backend;
  private Duration interval = Duration.ZERO;
  private int started;

  /**
   * Must be created before the simulation runs.
   *
   * @param blobs the store that survives every process; closed by the caller
   * @param directory for local files
   * @param faults counts the calls of all processes
   */
  public SimulatedDeployment(
      Simulation simulation,
      BlobStore blobs,
      SimulatedBlobStore.Network network,
      Path directory,
      FaultPlan faults) {
    this.faults = faults;
    this.simulation = simulation;
    this.blobs = blobs;
    this.network = network;
    this.directory = directory;
    this.driver = simulation.process("script");
  }

  /** Runs {@code task}, which uses this deployment, to its end. */
  public void run(Runnable task) {
    driver.spawn("main", task);
    simulation.run();
  }

  @Override
  public StateBackend start(Map<String, String> settings) {
    SimulatedProcess process = simulation.process("P" + ++started);
    FaultyBlobStore faulty =
        new FaultyBlobStore(process.store(blobs, network), process.execution()::sleep, faults);
    current = process;
    Map<String, String> all = new HashMap<>(settings);
    process
        .execution()
        .materializeAtOnce(
            Integer.parseInt(all.getOrDefault(CoreOptions.MATERIALIZE_THREADS.key(), "1")));
    interval = Durations.parse(all.computeIfAbsent(INTERVAL_KEY, key -> "10m"));
    all.put("state.backend.rocksdb.localdir", directory.resolve("P" + started).toString());
    StateBackend opened =
        StateBackend.open(
            all,
            new Components(
                Optional.of(faulty),
                Optional.of(process.execution()),
                new Random(31 * simulation.choices().seed() + started),
                Metrics.NONE));
    backend = opened;
    return opened;
  }

  @Override
  public void kill() {
    if (current != null) {
      current.kill();
      // Releases native memory; no call reaches the store any more.
      SimulatedProcess.releaseAfterDeath(backend);
      backend = null;
    }
  }

  @Override
  public <T> T await(CompletableFuture<T> future) {
    return driver.execution().await(future);
  }

  @Override
  public void sleep(Duration duration) {
    driver.execution().sleep(duration);
  }

  @Override
  public Duration materializationPause() {
    return interval.isZero() ? Duration.ofSeconds(1) : interval.multipliedBy(2);
  }

  @Override
  public void pause(String step) {
    driver.point(step);
  }

  @Override
  public void fault(String rule) {
    faults.rule(rule);
  }

  @Override
  public void heal() {
    faults.clear();
  }

  @Override
  public List<String> blobs(String prefix) {
    return blobs.list(prefix).stream().map(BlobInfo::name).toList();
  }

  @Override
  public void lose(String blob) {
    blobs.delete(List.of(blob));
  }

  @Override
  public void flip(String blob) {
    Damage.flip(blobs, blob);
  }

  @Override
  public void close() {
    kill();
    simulation.close();
  }
}
