package io.alluvium.testkit.sim;

import io.alluvium.StateBackendException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Runs simulated processes. Exactly one of their threads runs at any time; {@link Choices} decide
 * which. Time is virtual: it advances if no thread is runnable, or if the choices say so. The same
 * choices give the same run.
 *
 * <p>Created and run by the test's thread. Simulated code calls {@link #point} and {@link #await}
 * through {@link SimulatedExecution} and {@link SimulatedBlobStore}.
 */
public final class Simulation implements AutoCloseable {

  /** The candidate of {@link Choices#next} that advances the time. */
  public static final String TIME = "(time)";

  /** How a run ended. */
  public enum End {
    /** All actors that the test spawned have ended. */
    DONE,
    /** The remaining actors are held at a point, see {@link SimulatedProcess#holdAt}. */
    HELD
  }

  /*
   * Each actor has its own thread, parked on its semaphore `turn`. Only the thread with the turn uses the fields of
   * this class; it chooses the next actor and hands the turn over. Outside of run(), the test's thread has the turn.
   * The semaphores order all accesses, so that no lock is needed.
   *
   * 1. A turn ends at a scheduling point: before and after the effect of every blob-store call, at every await, and at
   *    the end of the actor. Simulated code may hold a lock between scheduling points, but not across one.
   * 2. A killed process gets no more turns, except one for each of its threads to unwind. All scheduling points throw
   *    then, so that unwinding changes nothing durable.
   * 3. A timer becomes an actor when it is due.
   */
  private static final int STUCK_SECONDS = 60;
  private static final int MAX_DEAD_CALLS = 10_000;
  private static final long STEP_NANOS = 1_000;
  private static final int DUMPED_STEPS = 120;

  private record Timer(long dueNanos, long order, SimulatedProcess process, Runnable task) {}

  private final Choices choices;
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "simulated");
            thread.setDaemon(true);
            return thread;
          });
  private final Map<Thread, Actor> current = new ConcurrentHashMap<>();
  private final Semaphore testTurn = new Semaphore(0);
  private final List<SimulatedProcess> processes = new ArrayList<>();
  private final List<Actor> actors = new ArrayList<>();
  private final PriorityQueue<Timer> timers =
      new PriorityQueue<>(
          Comparator.comparingLong(Timer::dueNanos).thenComparingLong(Timer::order));
  private final List<Runnable> invariants = new ArrayList<>();
  private final List<String> trace = new ArrayList<>();
  private final SimulatedProcess network;
  private final AtomicInteger steps = new AtomicInteger();
  private long nanos;
  private long timerOrder;
  private int maxSteps = 400_000;
  private boolean running;
  private boolean settling;
  private @Nullable Actor last;
  private @Nullable Throwable failure;

  public Simulation(Choices choices) {
    this.choices = choices;
    this.network = process("network");
  }

  /** A simulation with random choices from a seed. */
  public static Simulation ofSeed(long seed) {
    return new Simulation(new RandomChoices(seed));
  }

  public Choices choices() {
    return choices;
  }

  /** Creates a process, whose actors are killed together. */
  public SimulatedProcess process(String name) {
    SimulatedProcess process = new SimulatedProcess(this, name);
    processes.add(process);
    return process;
  }

  /** All processes that the test created, including dead ones. */
  public List<SimulatedProcess> processes() {
    return processes.stream().filter(process -> process != network).toList();
  }

  /** Adds a check that runs after every step and throws if its invariant does not hold. */
  public void invariant(Runnable check) {
    invariants.add(check);
  }

  /** Sets the maximum number of steps of a run; a longer run fails. */
  public void limitSteps(int limit) {
    maxSteps = limit;
  }

  /** All steps so far, one line each: time in microseconds, actor, point. */
  public List<String> trace() {
    return List.copyOf(trace);
  }

  /** Virtual time since the start, in nanoseconds. */
  public long nanoTime() {
    return nanos;
  }

  /**
   * Runs until each actor that the test spawned has ended or is held.
   *
   * @throws AssertionError if an actor fails, an invariant does not hold, no actor is runnable, or
   *     the run does not end; the message holds the last steps
   */
  public End run() {
    running = true;
    last = null;
    handOver(null);
    waitForTheTurn();
    running = false;
    Throwable failed = failure;
    if (failed != null) {
      throw new AssertionError(failed + dump(), failed);
    }
    return foreground().isEmpty() ? End.DONE : End.HELD;
  }

  /** Runs until no actor is runnable, including late requests, without advancing the time. */
  public void settle() {
    settling = true;
    run();
    settling = false;
  }

  private void waitForTheTurn() {
    try {
      int before = steps.get();
      while (!testTurn.tryAcquire(STUCK_SECONDS, TimeUnit.SECONDS)) {
        if (steps.get() == before) {
          throw new AssertionError(
              "an actor keeps its turn: it waits for something outside of the simulation, or for a"
                  + " lock that another actor holds across a scheduling point"
                  + dump());
        }
        before = steps.get();
      }
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted", e);
    }
  }

  private List<Actor> foreground() {
    return actors.stream().filter(actor -> actor.role == Actor.Role.FOREGROUND).toList();
  }

  void spawn(SimulatedProcess process, String name, Actor.Role role, Runnable task) {
    if (process.isDead()) {
      return;
    }
    Actor actor = new Actor(process, name, role);
    actors.add(actor);
    threads.execute(() -> live(actor, task));
  }

  private void live(Actor actor, Runnable task) {
    current.put(Thread.currentThread(), actor);
    actor.thread = Thread.currentThread();
    actor.turn.acquireUninterruptibly();
    try {
      if (!actor.process.isDead()) {
        task.run();
      }
    } catch (ProcessKilled e) {
      // Expected in every thread of a killed process.
    } catch (Throwable e) {
      if (!actor.process.isDead()) {
        fail(new AssertionError(actor + " failed: " + e, e));
      }
    }
    current.remove(Thread.currentThread());
    end(actor);
  }

  private void end(Actor actor) {
    actors.remove(actor);
    boolean unwound = actor.unwound;
    actor.ended.countDown();
    if (!unwound) {
      afterStep();
      handOver(actor);
    }
  }

  /** A scheduling point: other actors may run before the calling actor continues. */
  void point(SimulatedProcess process, String label) {
    Actor self = current.get(Thread.currentThread());
    if (self == null) {
      outside(process, label);
      return;
    }
    pause(self, process, label, null);
  }

  /** Waits for a future. */
  void await(SimulatedProcess process, CompletableFuture<?> future) {
    Actor self = current.get(Thread.currentThread());
    if (self != null) {
      pause(self, process, "await", future);
    } else if (!future.isDone()) {
      outside(process, "await");
      throw new AssertionError("only an actor can wait for a future");
    }
  }

  /** The test's thread may use simulated objects before and after a run, but not during it. */
  private void outside(SimulatedProcess process, String label) {
    if (process.isDead()) {
      throw deadTo(process, label);
    }
    if (running) {
      AssertionError error =
          new AssertionError(
              "'"
                  + label
                  + "' is called by a thread outside of the simulation: "
                  + Thread.currentThread());
      fail(error);
      throw error;
    }
  }

  private void pause(
      Actor self, SimulatedProcess process, String label, @Nullable CompletableFuture<?> until) {
    if (self.process.isDead() || process.isDead()) {
      if (++self.deadCalls > MAX_DEAD_CALLS) {
        throw new AssertionError(self + " does not stop although its process is dead");
      }
      if (self.process.isDead()) {
        throw new ProcessKilled(process.name());
      }
      throw deadTo(process, label);
    }
    self.point = label;
    self.until = until;
    self.held = process.holds(label);
    afterStep();
    if (handOver(self) != self) {
      self.turn.acquireUninterruptibly();
    }
    self.until = null;
    if (self.process.isDead()) {
      throw new ProcessKilled(self.process.name());
    }
  }

  /** The failure of calls by other processes to objects of a dead process. */
  private static StateBackendException deadTo(SimulatedProcess process, String label) {
    return StateBackendException.unavailable(
        "'" + label + "' is not possible: process " + process.name() + " is dead",
        new IllegalStateException("dead"));
  }

  private void afterStep() {
    for (Runnable invariant : invariants) {
      if (failure != null) {
        return;
      }
      try {
        invariant.run();
      } catch (Throwable e) {
        fail(new AssertionError("an invariant does not hold: " + e, e));
      }
    }
  }

  private void fail(Throwable e) {
    if (failure == null) {
      failure = e;
    }
  }

  /** Chooses the next actor and gives it the turn; null if the test gets the turn. */
  private @Nullable Actor handOver(@Nullable Actor self) {
    Actor next = failure != null ? null : nextActor();
    last = next;
    if (next == null) {
      testTurn.release();
    } else {
      trace.add(nanos / 1_000 + " " + next + " " + next.point);
      if (next != self) {
        next.turn.release();
      }
    }
    return next;
  }

  private @Nullable Actor nextActor() {
    while (true) {
      List<Actor> foreground = foreground();
      List<Actor> candidates = actors.stream().filter(Actor::isRunnable).toList();
      if (settling ? candidates.isEmpty() : foreground.stream().allMatch(actor -> actor.held)) {
        return null;
      }
      if (candidates.isEmpty() && timers.isEmpty()) {
        if (actors.stream().anyMatch(actor -> actor.held)) {
          return null;
        }
        fail(new AssertionError("no actor is runnable; waiting: " + foreground));
        return null;
      }
      nanos += STEP_NANOS;
      if (steps.incrementAndGet() > maxSteps) {
        fail(new AssertionError("no end after " + maxSteps + " steps"));
        return null;
      }
      List<String> names = new ArrayList<>();
      candidates.forEach(actor -> names.add(actor.process.name()));
      if (!timers.isEmpty() && !settling) {
        names.add(TIME);
      }
      int chosen = names.size() == 1 ? 0 : choices.next(names, candidates.indexOf(last));
      if (chosen < candidates.size()) {
        return candidates.get(chosen);
      }
      fireTimer();
    }
  }

  private void fireTimer() {
    Timer timer = timers.remove();
    nanos = Math.max(nanos, timer.dueNanos);
    spawn(timer.process, "timer", Actor.Role.BACKGROUND, timer.task);
  }

  Runnable schedule(SimulatedProcess process, long delayNanos, Runnable task) {
    Timer timer = new Timer(nanos + Math.max(0, delayNanos), timerOrder++, process, task);
    if (!process.isDead()) {
      timers.add(timer);
    }
    return () -> timers.remove(timer);
  }

  /** Runs an effect at any later time, independently of the calling process. */
  void late(String call, Runnable effect) {
    spawn(network, "late " + call, Actor.Role.BACKGROUND, effect);
  }

  void release(SimulatedProcess process) {
    for (Actor actor : actors) {
      if (actor.process == process) {
        actor.held = false;
      }
    }
  }

  List<String> heldAt(SimulatedProcess process) {
    return actors.stream()
        .filter(actor -> actor.process == process && actor.held)
        .map(actor -> actor.name + " at " + actor.point)
        .toList();
  }

  /** Lets every thread of a dead process unwind, one after the other. */
  void unwind(SimulatedProcess process) {
    timers.removeIf(timer -> timer.process == process);
    Actor self = current.get(Thread.currentThread());
    for (Actor actor : List.copyOf(actors)) {
      if (actor.process == process && actor != self) {
        actor.unwound = true;
        actor.turn.release();
        awaitEnd(actor);
      }
    }
    trace.add(nanos / 1_000 + " " + process.name() + " is dead");
    if (self != null && self.process == process) {
      throw new ProcessKilled(process.name());
    }
  }

  private void awaitEnd(Actor actor) {
    try {
      if (!actor.ended.await(STUCK_SECONDS, TimeUnit.SECONDS)) {
        throw new AssertionError(actor + " does not end although its process is dead" + dump());
      }
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted", e);
    }
  }

  private String dump() {
    StringBuilder text = new StringBuilder("\nThe last steps:\n");
    List<String> lines = List.copyOf(trace);
    lines
        .subList(Math.max(0, lines.size() - DUMPED_STEPS), lines.size())
        .forEach(line -> text.append("  ").append(line).append('\n'));
    text.append("Actors:\n");
    for (Actor actor : List.copyOf(actors)) {
      text.append("  ").append(actor).append(" at ").append(actor.point).append('\n');
      Thread thread = actor.thread;
      if (thread != null) {
        StackTraceElement[] stack = thread.getStackTrace();
        for (int i = 0; i < Math.min(stack.length, 25); i++) {
          if (stack[i].getClassName().startsWith("io.alluvium")) {
            text.append("      ").append(stack[i]).append('\n');
          }
        }
      }
    }
    return text.toString();
  }

  /** Kills every process. */
  @Override
  public void close() {
    processes.forEach(SimulatedProcess::kill);
    threads.shutdown();
  }
}
