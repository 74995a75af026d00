package io.alluvium.testkit.sim;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobStore;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One operating-system process of a simulation: its threads, its time, its connection to the blob
 * store. Used only by the actor whose turn it is.
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

  /** The time and the threads of the process. */
  public SimulatedExecution execution() {
    return execution;
  }

  /** Connects the process to a store. */
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

  /** A scheduling point for tests. */
  public void point(String label) {
    simulation.point(this, label);
  }

  /**
   * Holds the actors of the process at matching points until {@link #release}.
   *
   * @param label label of a point; {@code *} matches anything
   */
  public void holdAt(String label) {
    holds.add(Pattern.compile(Pattern.quote(label).replace("*", "\\E.*\\Q")));
  }

  boolean holds(String label) {
    return holds.stream().anyMatch(pattern -> pattern.matcher(label).matches());
  }

  /** Releases all held actors and removes all holds. */
  public void release() {
    holds.clear();
    simulation.release(this);
  }

  /** The held actors with their points. */
  public List<String> heldAt() {
    return simulation.heldAt(this);
  }

  /** SIGKILL: the process has no further effects. Idempotent. */
  public void kill() {
    if (!dead) {
      dead = true;
      simulation.unwind(this);
    }
  }

  /** Closes a resource of a dead process; failures because of its death are ignored. */
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
