package io.alluvium.testkit.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Runs a small scenario in every order within bounds, by a depth-first search over the choices.
 * Confined to one thread.
 *
 * <p>The bounds are the number of faults and the number of deviations from the default order.
 * Preemption bounding counts only preemptions of runnable actors (Musuvathi and Qadeer, "Iterative
 * Context Bounding for Systematic Testing of Multithreaded Programs", 2007). Delay bounding counts
 * all deviations (Emmi, Qadeer and Rakamaric, "Delay-Bounded Scheduling", 2011), and reaches
 * further into long scenarios.
 */
public final class Explorer {

  /**
   * Bounds of a search.
   *
   * @param deviations maximum number of deviations from the default order in one run
   * @param counted which deviations count
   * @param faults maximum number of faults in one run
   * @param runs maximum number of runs, after which the search ends unfinished
   */
  public record Bounds(int deviations, Counted counted, int faults, int runs) {

    /** Bounds the number of preemptions of runnable actors. */
    public static Bounds preemptions(int preemptions, int faults, int runs) {
      return new Bounds(preemptions, Counted.PREEMPTIONS, faults, runs);
    }

    /** Bounds how often another actor than the oldest runnable one gets the turn. */
    public static Bounds delays(int delays, int faults, int runs) {
      return new Bounds(delays, Counted.ALL, faults, runs);
    }
  }

  /** Which deviations from the default order count. */
  public enum Counted {
    /** Deviations that preempt a runnable actor. */
    PREEMPTIONS,
    /** Also deviations at which the current actor is not runnable. */
    ALL
  }

  /**
   * The result of a search.
   *
   * @param exhausted whether all orders within the bounds were run
   */
  public record Outcome(int runs, boolean exhausted) {}

  private record Decision(int options, int taken) {}

  private Explorer() {}

  /** Runs {@code scenario} with one simulation per order; the scenario throws if it fails. */
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

  /** Runs the scenario again with the choices that a failure printed. */
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

  /** Follows the given decisions, then always takes the first option. */
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
      // Time advances only if no actor is runnable.
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
