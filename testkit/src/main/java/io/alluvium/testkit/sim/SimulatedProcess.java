package io.alluvium.testkit.sim;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobStore;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One operating-system process of a simulation: its threads, its time, its way to the blob store.
 * Used by whoever has the turn.
 */
public final class SimulatedProcess {

  private final Simulation simulation;
  private final String name;
  private final SimulatedExecution execution;
  private final List<Pattern> holds = new ArrayList<>();
  private volatile boolean dead;

  SimulatedProcess(Simulation simulation, String name) {
    this.simulation = simulation;
    this.name = name;
    this.execution = new SimulatedExecution(simulation, this);
  }

  public String name() {
    return name;
  }

  /** Its time and threads. */
  public SimulatedExecution execution() {
    return execution;
  }

  /** Its way to a store. */
  public SimulatedBlobStore store(BlobStore store, SimulatedBlobStore.Network network) {
    return new SimulatedBlobStore(simulation, this, store, network);
  }

  /** Starts a thread that a run waits for. */
  public void spawn(String actor, Runnable task) {
    simulation.spawn(this, actor, Actor.Role.FOREGROUND, task);
  }

  /** Starts a thread that a run does not wait for. */
  public void spawnInBackground(String actor, Runnable task) {
    simulation.spawn(this, actor, Actor.Role.BACKGROUND, task);
  }

  /** A scheduling point of a test's own. */
  public void point(String label) {
    simulation.point(this, label);
  }

  /**
   * From now on its actors stop at points whose label matches, until {@link #release}.
   *
   * @param label {@code *} stands for anything
   */
  public void holdAt(String label) {
    holds.add(Pattern.compile(Pattern.quote(label).replace("*", "\\E.*\\Q")));
  }

  boolean holds(String label) {
    return holds.stream().anyMatch(pattern -> pattern.matcher(label).matches());
  }

  /** Lets everything that is held go on, and holds nothing any more. */
  public void release() {
    holds.clear();
    simulation.release(this);
  }

  /** Where its held actors stand. */
  public List<String> heldAt() {
    return simulation.heldAt(this);
  }

  /** SIGKILL: nothing that it has not done yet will be done. Idempotent. */
  public void kill() {
    if (!dead) {
      dead = true;
      simulation.unwind(this);
    }
  }

  /** Closes something of a dead process as far as that goes without the store. */
  public static void releaseAfterDeath(@Nullable AutoCloseable resource) {
    try {
      if (resource != null) {
        resource.close();
      }
    } catch (Exception e) {
      if (!(e instanceof StateBackendException)) {
        throw new AssertionError("closing after death failed: " + e, e);
      }
    }
  }

  public boolean isDead() {
    return dead;
  }
}
