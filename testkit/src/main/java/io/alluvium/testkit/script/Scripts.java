package io.alluvium.testkit.script;

import io.alluvium.spi.BlobStore;
import io.alluvium.testkit.blob.FaultPlan;
import io.alluvium.testkit.blob.MapBlobStore;
import io.alluvium.testkit.sim.Choices;
import io.alluvium.testkit.sim.RandomChoices;
import io.alluvium.testkit.sim.SimulatedBlobStore;
import io.alluvium.testkit.sim.Simulation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Runs scripts; a failure reports the seed and a reduced script. Stateless. */
public final class Scripts {

  private static final int MAX_PARALLELISM = 8;
  private static final int REDUCING_RUNS = 300;
  private static final SimulatedBlobStore.Network FLAKY =
      new SimulatedBlobStore.Network(0.01, 0.01, 0);

  private Scripts() {}

  /** Runs the script of a seed in a simulation. */
  public static void simulate(long seed, Matrix matrix, int length, Path directory) {
    simulate(seed, matrix, length, directory, MapBlobStore::new);
  }

  /**
   * Runs the script of a seed in a simulation.
   *
   * @param stores opens an empty store, which this method closes; its calls are sequential
   */
  public static void simulate(
      long seed, Matrix matrix, int length, Path directory, Supplier<BlobStore> stores) {
    Script script = ScriptGenerator.make(seed, matrix, length);
    check(
        seed,
        script,
        each -> {
          try (Simulation simulation = new Simulation(new RandomChoices(seed));
              BlobStore store = stores.get()) {
            simulate(simulation, network(seed), each, directory, new FaultPlan(), store);
          }
        });
  }

  /** Runs one script in a simulation; throws if it fails. */
  public static void simulate(long seed, Script script, Path directory) {
    simulate(new RandomChoices(seed), network(seed), script, directory, new FaultPlan());
  }

  /** A third of the seeds uses a network that loses some calls. */
  private static SimulatedBlobStore.Network network(long seed) {
    return seed % 3 == 0 ? FLAKY : SimulatedBlobStore.Network.RELIABLE;
  }

  /** Runs one script in a simulation; throws if it fails. */
  public static void simulate(
      Choices choices,
      SimulatedBlobStore.Network network,
      Script script,
      Path directory,
      FaultPlan faults) {
    try (Simulation simulation = new Simulation(choices)) {
      simulate(simulation, network, script, directory, faults);
    }
  }

  /** Runs one script in a given simulation; throws if it fails. */
  public static void simulate(
      Simulation simulation,
      SimulatedBlobStore.Network network,
      Script script,
      Path directory,
      FaultPlan faults) {
    simulate(simulation, network, script, directory, faults, new MapBlobStore());
  }

  /**
   * Runs one script in a given simulation; throws if it fails.
   *
   * @param store empty; closed by the caller
   */
  public static void simulate(
      Simulation simulation,
      SimulatedBlobStore.Network network,
      Script script,
      Path directory,
      FaultPlan faults,
      BlobStore store) {
    try (SimulatedDeployment deployment =
        new SimulatedDeployment(simulation, store, network, fresh(directory), faults)) {
      deployment.run(() -> new ScriptRunner(deployment, script, MAX_PARALLELISM).run());
    }
  }

  /** Runs the script of a seed on real threads. */
  public static void runOnThreads(long seed, Matrix matrix, int length, Path directory) {
    runOnThreads(seed, matrix, length, directory, MapBlobStore::new);
  }

  /**
   * Runs the script of a seed on real threads.
   *
   * @param stores opens an empty store, which this method closes
   */
  public static void runOnThreads(
      long seed, Matrix matrix, int length, Path directory, Supplier<BlobStore> stores) {
    Script script = ScriptGenerator.make(seed, matrix, length);
    check(seed, script, each -> runOnThreads(seed, each, directory, stores));
  }

  /** Runs one script on real threads; throws if it fails. */
  public static void runOnThreads(
      long seed, Script script, Path directory, Supplier<BlobStore> stores) {
    try (BlobStore store = stores.get();
        ThreadedDeployment deployment = new ThreadedDeployment(store, fresh(directory), seed)) {
      new ScriptRunner(deployment, script, MAX_PARALLELISM).run();
    }
  }

  private static Path fresh(Path directory) {
    try {
      return Files.createTempDirectory(directory, "run");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void check(long seed, Script script, Consumer<Script> run) {
    try {
      run.accept(script);
    } catch (AssertionError | RuntimeException e) {
      Script reduced = ScriptReducer.reduce(script, each -> fails(each, run), REDUCING_RUNS);
      throw new AssertionError(
          "seed "
              + seed
              + " (-Dseed="
              + seed
              + ") fails: "
              + firstLine(e)
              + "\nReduced script:\n"
              + reduced,
          failure(reduced, run, e));
    }
  }

  private static boolean fails(Script script, Consumer<Script> run) {
    return failure(script, run, null) != null;
  }

  private static @Nullable Throwable failure(
      Script script, Consumer<Script> run, @Nullable Throwable otherwise) {
    try {
      run.accept(script);
      return otherwise;
    } catch (AssertionError | RuntimeException e) {
      return e;
    }
  }

  private static String firstLine(Throwable e) {
    return String.valueOf(e.getMessage()).lines().limit(6).reduce("", (a, b) -> a + "\n  " + b);
  }
}
