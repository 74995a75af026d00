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
 * Runs processes made of threads so that exactly one thread runs at any time and {@link Choices}
 * decide which. Time is virtual: it moves on when nothing else can happen, or when the choices say
 * so. Same choices, same run.
 *
 * <p>Made, set up and run by one thread, the test's; what runs inside calls {@link #point} and
 * {@link #await} through {@link SimulatedExecution} and {@link SimulatedBlobStore}.
 */
public final class Simulation implements AutoCloseable {

  /** Stands among the candidates for a turn when time may pass. */
  public static final String TIME = "(time)";

  /** What a run ended with. */
  public enum End {
    /** Every actor that the test spawned has ended. */
    DONE,
    /** Those that have not are held at a point, see {@link SimulatedProcess#holdAt}. */
    HELD
  }

  /*
   * Each actor has a thread of its own, parked on its semaphore `turn`. Whoever has the turn touches the fields of this
   * class, decides who comes next and hands the turn over; the test's thread has it outside of run(). So there is no
   * lock: the semaphores order everything.
   *
   * 1. A turn ends at a scheduling point: before and after the effect of every blob-store call, at every await, at the
   *    end of the actor. Nothing else switches, so that code may hold a lock as long as it makes no such call.
   * 2. A killed process gets no turn any more, except once for each of its threads to unwind; every scheduling point
   *    throws then, so that it changes nothing durable on its way out.
   * 3. Timers become actors when their time has come.
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

  /** A simulation whose choices come from a seed. */
  public static Simulation ofSeed(long seed) {
    return new Simulation(new RandomChoices(seed));
  }

  public Choices choices() {
    return choices;
  }

  /** Makes a process; what it is made of lives and dies together. */
  public SimulatedProcess process(String name) {
    SimulatedProcess process = new SimulatedProcess(this, name);
    processes.add(process);
    return process;
  }

  /** Every process made by the test, dead ones too. */
  public List<SimulatedProcess> processes() {
    return processes.stream().filter(process -> process != network).toList();
  }

  /** Adds something that must hold after every step; it throws when it does not. */
  public void invariant(Runnable check) {
    invariants.add(check);
  }

  /** A run of more steps than that fails. */
  public void limitSteps(int limit) {
    maxSteps = limit;
  }

  /** Everything that happened, one line a step: time in microseconds, actor, point. */
  public List<String> trace() {
    return List.copyOf(trace);
  }

  /** Virtual time since the start. */
  public long nanoTime() {
    return nanos;
  }

  /**
   * Runs until every actor that the test spawned has ended, or all that have not are held.
   *
   * @throws AssertionError when an actor failed, an invariant broke, nothing can go on, or a run
   *     does not end; with the last steps
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

  /**
   * Lets everything happen that is under way, requests that come late included, without time
   * passing.
   */
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
      // The end of every thread of a killed process.
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

  /** A point at which others may go on; the calling actor goes on later. */
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

  /** The test's thread may use what it has made before and after a run, not meanwhile. */
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

  /** What somebody else who holds on to objects of a dead process meets. */
  private static StateBackendException deadTo(SimulatedProcess process, String label) {
    return StateBackendException.unavailable(
        "'" + label + "' cannot be done: process " + process.name() + " is dead",
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
        fail(new AssertionError("an invariant broke: " + e, e));
      }
    }
  }

  private void fail(Throwable e) {
    if (failure == null) {
      failure = e;
    }
  }

  /** Decides who comes next and lets it go on; null when it is the test. */
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
      List<Actor> candidates = actors.stream().filter(Actor::canGoOn).toList();
      if (settling ? candidates.isEmpty() : foreground.stream().allMatch(actor -> actor.held)) {
        return null;
      }
      if (candidates.isEmpty() && timers.isEmpty()) {
        if (actors.stream().anyMatch(actor -> actor.held)) {
          return null;
        }
        fail(new AssertionError("nothing can go on; waiting: " + foreground));
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

  /** An effect that comes at any later time, on nobody's behalf. */
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
