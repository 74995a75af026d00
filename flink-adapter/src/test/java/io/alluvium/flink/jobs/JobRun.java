package io.alluvium.flink.jobs;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * What a test and the tasks of its job share, in one process: permits for the sources, planned
 * failures, and the lines that came out. Thread-safe.
 */
final class JobRun {

  /** Where a task can fail. */
  enum Place {
    RECORD,
    /** In the task of the keyed operator. */
    OUTPUT,
    SNAPSHOT,
    NOTIFICATION
  }

  private static final ConcurrentMap<String, JobRun> RUNS = new ConcurrentHashMap<>();

  private final Set<String> lines = ConcurrentHashMap.newKeySet();

  @GuardedBy("this")
  private final Deque<CompletableFuture<Void>> waiting = new ArrayDeque<>();

  @GuardedBy("this")
  private long permits;

  @GuardedBy("this")
  private final Map<Place, Long> visits = new EnumMap<>(Place.class);

  @GuardedBy("this")
  private final Map<Place, TreeSet<Long>> planned = new EnumMap<>(Place.class);

  @GuardedBy("this")
  private int completedCheckpoints;

  static JobRun start(String name) {
    JobRun run = new JobRun();
    RUNS.put(name, run);
    return run;
  }

  static JobRun named(String name) {
    return Objects.requireNonNull(RUNS.get(name), name);
  }

  static void end(String name) {
    RUNS.remove(name);
  }

  /** The pace of a source that waits for this run's permits. */
  static Pace gated(String name) {
    return () -> named(name).next();
  }

  private synchronized CompletableFuture<Void> next() {
    if (permits > 0) {
      permits--;
      return CompletableFuture.completedFuture(null);
    }
    CompletableFuture<Void> future = new CompletableFuture<>();
    waiting.add(future);
    return future;
  }

  /** Allows more events. */
  void release(long more) {
    Deque<CompletableFuture<Void>> due = new ArrayDeque<>();
    synchronized (this) {
      permits += more;
      while (permits > 0 && !waiting.isEmpty()) {
        permits--;
        due.add(waiting.remove());
      }
    }
    due.forEach(future -> future.complete(null));
  }

  /**
   * Allows more events if all that were allowed before are on their way. While the job is down,
   * they do not add up.
   */
  void trickle(long more) {
    boolean used;
    synchronized (this) {
      used = permits == 0;
    }
    if (used) {
      release(more);
    }
  }

  /** Forgets permits and failures: a new phase of the job begins. */
  synchronized void beginPhase() {
    permits = 0;
    waiting.clear();
    visits.clear();
    planned.clear();
    completedCheckpoints = 0;
  }

  /** The given visit of a place, counted over all subtasks from now on, fails. */
  synchronized void failAt(Place place, long visit) {
    long before = visits.getOrDefault(place, 0L);
    planned.computeIfAbsent(place, unused -> new TreeSet<>()).add(before + visit);
  }

  synchronized int plannedFailures() {
    return planned.values().stream().mapToInt(Set::size).sum();
  }

  synchronized int plannedFailures(Place place) {
    TreeSet<Long> ahead = planned.get(place);
    return ahead == null ? 0 : ahead.size();
  }

  /** Called by tasks; throws when a failure is due. */
  void visit(Place place) {
    String due = null;
    synchronized (this) {
      long count = visits.merge(place, 1L, Long::sum);
      TreeSet<Long> ahead = planned.get(place);
      if (ahead != null && ahead.remove(count)) {
        due = "planned failure at " + place + " " + count;
      }
      if (place == Place.NOTIFICATION) {
        completedCheckpoints++;
      }
    }
    if (due != null) {
      throw new PlannedException(due);
    }
  }

  /** Notifications of completed checkpoints since the phase began. */
  synchronized int completedCheckpoints() {
    return completedCheckpoints;
  }

  void line(String line) {
    lines.add(line);
  }

  Set<String> lines() {
    return lines;
  }

  /** A failure that a test wanted. */
  static final class PlannedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    PlannedException(String message) {
      super(message);
    }
  }
}
