package io.alluvium.testkit.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Runs a small scenario in every order, within bounds: depth first over the choices. Confined to
 * one thread.
 *
 * <p>An order is bounded by how many faults happen, and by how often a turn is given to an actor
 * out of order: either only where another one could have gone on (preemption bounding, Musuvathi
 * and Qadeer, "Iterative Context Bounding for Systematic Testing of Multithreaded Programs", 2007),
 * or anywhere (delay bounding, Emmi, Qadeer and Rakamaric, "Delay-Bounded Scheduling", 2011), which
 * reaches further into longer scenarios.
 */
public final class Explorer {

  /**
   * How far to look.
   *
   * @param deviations how often a turn is given out of order in one run
   * @param counted which of them count
   * @param faults how many faults happen in one run
   * @param runs after that many the search ends unfinished
   */
  public record Bounds(int deviations, Counted counted, int faults, int runs) {

    /** Bounds how often a turn is taken from an actor that could go on. */
    public static Bounds preemptions(int preemptions, int faults, int runs) {
      return new Bounds(preemptions, Counted.PREEMPTIONS, faults, runs);
    }

    /** Bounds how often somebody else than the oldest actor that can go on gets the turn. */
    public static Bounds delays(int delays, int faults, int runs) {
      return new Bounds(delays, Counted.ALL, faults, runs);
    }
  }

  /** Which deviations from the plain order count. */
  public enum Counted {
    /** Where an actor could have gone on. */
    PREEMPTIONS,
    /** Those where an actor had to stop anyway, too. */
    ALL
  }

  /**
   * What was looked at.
   *
   * @param exhausted whether all orders within the bounds were run
   */
  public record Outcome(int runs, boolean exhausted) {}

  private record Decision(int options, int taken) {}

  private Explorer() {}

  /** Runs {@code scenario} with one simulation after the other; it may throw to fail. */
  public static Outcome explore(Bounds bounds, Consumer<Simulation> scenario) {
    List<Decision> path = new ArrayList<>();
    for (int run = 1; ; run++) {
      Path choices = new Path(path, bounds);
      try (Simulation simulation = new Simulation(choices)) {
        scenario.accept(simulation);
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("run " + run + ", choices " + choices.taken() + ": " + e, e);
      }
      path = choices.decisions;
      while (!path.isEmpty() && last(path).taken + 1 == last(path).options) {
        path.remove(path.size() - 1);
      }
      if (path.isEmpty()) {
        return new Outcome(run, true);
      }
      if (run == bounds.runs) {
        return new Outcome(run, false);
      }
      Decision last = path.remove(path.size() - 1);
      path.add(new Decision(last.options, last.taken + 1));
    }
  }

  /** Runs it once more with the choices that a failure printed. */
  public static void replay(Bounds bounds, List<Integer> taken, Consumer<Simulation> scenario) {
    List<Decision> path =
        new ArrayList<>(taken.stream().map(each -> new Decision(Integer.MAX_VALUE, each)).toList());
    try (Simulation simulation = new Simulation(new Path(path, bounds))) {
      scenario.accept(simulation);
    }
  }

  private static Decision last(List<Decision> path) {
    return path.get(path.size() - 1);
  }

  /** Follows the decisions given, then takes the first option every time. */
  private static final class Path implements Choices {
    private final List<Decision> given;
    private final List<Decision> decisions = new ArrayList<>();
    private final Counted counted;
    private int deviations;
    private int faults;

    private Path(List<Decision> given, Bounds bounds) {
      this.given = List.copyOf(given);
      this.counted = bounds.counted;
      this.deviations = bounds.deviations;
      this.faults = bounds.faults;
    }

    private List<Integer> taken() {
      return decisions.stream().map(Decision::taken).toList();
    }

    @Override
    public int next(List<String> candidates, int current) {
      // Time passes only when nothing else can happen.
      boolean time = candidates.get(candidates.size() - 1).equals(Simulation.TIME);
      int actors = candidates.size() - (time ? 1 : 0);
      if (actors == 0) {
        return 0;
      }
      boolean free = current < 0 && counted == Counted.PREEMPTIONS;
      int plain = Math.max(0, current);
      if (actors == 1 || (deviations == 0 && !free)) {
        return plain;
      }
      int option = choose(actors);
      if (option == 0) {
        return plain;
      }
      if (!free) {
        deviations--;
      }
      return option <= plain ? option - 1 : option;
    }

    @Override
    public boolean fault(double probability) {
      if (probability <= 0 || faults == 0 || choose(2) == 0) {
        return false;
      }
      faults--;
      return true;
    }

    @Override
    public int choose(int bound) {
      if (bound == 1) {
        return 0;
      }
      int at = decisions.size();
      int taken = at < given.size() ? given.get(at).taken : 0;
      decisions.add(new Decision(bound, taken));
      return taken;
    }

    @Override
    public long seed() {
      return 1;
    }
  }
}
