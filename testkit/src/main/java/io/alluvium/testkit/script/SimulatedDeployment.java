package io.alluvium.testkit.script;

import io.alluvium.Components;
import io.alluvium.StateBackend;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.Metrics;
import io.alluvium.testkit.blob.FaultyBlobStore;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.sim.SimulatedBlobStore;
import io.alluvium.testkit.sim.SimulatedProcess;
import io.alluvium.testkit.sim.Simulation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Processes of a simulation. The script itself runs in an actor of its own process, which no kill
 * reaches. Used by whoever has the turn.
 */
public final class SimulatedDeployment implements Deployment {

  private static final Duration INTERVAL = Duration.ofMinutes(10);

  private final Simulation simulation;
  private final MapBlobStore blobs;
  private final SimulatedBlobStore.Network network;
  private final Path directory;
  private final SimulatedProcess driver;
  private final List<String> rules = new ArrayList<>();
  private @Nullable SimulatedProcess current;
  private @Nullable FaultyBlobStore store;
  private int started;

  /**
   * @param directory for local files
   */
  public SimulatedDeployment(
      Simulation simulation,
      MapBlobStore blobs,
      SimulatedBlobStore.Network network,
      Path directory) {
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
        new FaultyBlobStore(process.store(blobs, network), process.execution()::sleep);
    rules.forEach(faulty::rule);
    current = process;
    store = faulty;
    Map<String, String> all = new HashMap<>(settings);
    all.putIfAbsent(
        "state.backend.changelog.periodic-materialize.interval", INTERVAL.toMinutes() + "m");
    all.put("state.backend.rocksdb.localdir", directory.resolve("P" + started).toString());
    return StateBackend.open(
        all,
        new Components(
            Optional.of(faulty),
            Optional.of(process.execution()),
            new Random(simulation.choices().choose(Integer.MAX_VALUE)),
            Metrics.NONE));
  }

  @Override
  public void kill() {
    if (current != null) {
      current.kill();
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
    return INTERVAL.multipliedBy(2);
  }

  @Override
  public void pause(String step) {
    driver.point(step);
  }

  @Override
  public void fault(String rule) {
    rules.add(rule);
    if (store != null) {
      store.rule(rule);
    }
  }

  @Override
  public void heal() {
    rules.clear();
    if (store != null) {
      store.clearRules();
    }
  }

  @Override
  public List<String> dataBlobs() {
    return blobs.list(BlobName.PREFIX).stream().map(BlobInfo::name).toList();
  }

  @Override
  public void close() {
    simulation.close();
  }
}
