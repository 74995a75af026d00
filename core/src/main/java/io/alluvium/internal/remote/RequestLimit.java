package io.alluvium.internal.remote;

import io.alluvium.spi.Execution;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * How many requests may run at once on a store that complains about too many: halved when it does,
 * one more after each round that went well. Thread-safe; guarded by {@code this}, which is not held
 * while a request runs or waits.
 */
final class RequestLimit {

  /** Who goes first when not all may. */
  enum Urgency {
    /** What a checkpoint or a restore waits for. */
    FOREGROUND,
    /** What nobody waits for: files of materializations, deletions. */
    BACKGROUND
  }

  /*
   * 1. A request in the foreground waits only for others of the foreground, never for a file of a materialization that is
   *    on its way. One in the background waits for all, but is let in when nothing else runs, so that the limit, at least
   *    1, lets everybody through in the end.
   * 2. Complaints that come close together are about the same load: the limit is halved once for them.
   * 3. A file that is on its way sends its next piece when the store has been calm for a second, or after ten.
   * 4. Up to the first complaint there is no limit, and none again once it has grown to `MOST`.
   */
  static final int MOST = 256;

  private static final long COMPLAINTS_TOGETHER_NANOS = Duration.ofSeconds(1).toNanos();

  private static final long LONGEST_REST_NANOS = Duration.ofSeconds(10).toNanos();

  private static final long LATELY_NANOS = Duration.ofMinutes(1).toNanos();

  /** Of a request that waits. */
  private static final class Turn {
    private final CompletableFuture<Boolean> come = new CompletableFuture<>();
  }

  private final Execution execution;
  private final Deque<Turn> foregroundWaiting = new ArrayDeque<>();
  private final Deque<Turn> backgroundWaiting = new ArrayDeque<>();
  private double limit = MOST;
  private int foreground;
  private int background;
  private boolean complainedBefore;
  private long lastComplaintNanos;
  private long lastHalvedNanos;

  RequestLimit(Execution execution) {
    this.execution = execution;
  }

  /** Makes a request as soon as it may be made. */
  <T> T call(Urgency urgency, Supplier<T> request) {
    enter(urgency);
    boolean done = false;
    try {
      T answer = request.get();
      done = true;
      return answer;
    } finally {
      leave(urgency, done ? 1 / current() : 0);
    }
  }

  /** How many requests may run at once; {@link #MOST} = as many as there are. */
  synchronized double current() {
    return limit;
  }

  /** Whether the store complained in the last minute. */
  boolean complainedLately() {
    long now = execution.nanoTime();
    synchronized (this) {
      return complainedBefore && now - lastComplaintNanos < LATELY_NANOS;
    }
  }

  /** The store complained; any thread, does not wait. */
  void throttled() {
    long now = execution.nanoTime();
    synchronized (this) {
      boolean first = !complainedBefore;
      complainedBefore = true;
      lastComplaintNanos = now;
      if (first || now - lastHalvedNanos >= COMPLAINTS_TOGETHER_NANOS) {
        lastHalvedNanos = now;
        limit = Math.max(1, Math.min(limit, foreground + background) / 2);
      }
    }
  }

  /**
   * Waits until the store has not complained for a second; ten at most, so that there is progress.
   */
  void awaitCalm() {
    long start = execution.nanoTime();
    while (true) {
      long now = execution.nanoTime();
      long rest;
      synchronized (this) {
        rest = complainedBefore ? lastComplaintNanos + COMPLAINTS_TOGETHER_NANOS - now : 0;
      }
      if (rest <= 0 || now - start >= LONGEST_REST_NANOS) {
        return;
      }
      CompletableFuture<Boolean> over = new CompletableFuture<>();
      Execution.Scheduled timer =
          Execution.handOff(
              execution,
              Duration.ofNanos(rest),
              () -> over.complete(true),
              refusal -> over.complete(false));
      boolean timed;
      try {
        timed = execution.await(over);
      } finally {
        timer.cancel();
      }
      if (!timed) {
        // Nobody would end the rest, so the request is made at once.
        return;
      }
    }
  }

  private void enter(Urgency urgency) {
    Turn turn = new Turn();
    synchronized (this) {
      if (mayEnter(urgency) && (urgency == Urgency.FOREGROUND || foregroundWaiting.isEmpty())) {
        count(urgency, 1);
        return;
      }
      waiting(urgency).addLast(turn);
    }
    boolean entered = false;
    try {
      entered = execution.await(turn.come);
    } finally {
      if (!entered) {
        boolean tooLate;
        synchronized (this) {
          tooLate = !waiting(urgency).remove(turn);
        }
        if (tooLate) {
          leave(urgency, 0);
        }
      }
    }
  }

  private synchronized boolean mayEnter(Urgency urgency) {
    return urgency == Urgency.FOREGROUND
        ? foreground < Math.floor(limit)
        : foreground + background == 0 || foreground + background < Math.floor(limit);
  }

  private synchronized Deque<Turn> waiting(Urgency urgency) {
    return urgency == Urgency.FOREGROUND ? foregroundWaiting : backgroundWaiting;
  }

  private synchronized void count(Urgency urgency, int change) {
    if (urgency == Urgency.FOREGROUND) {
      foreground += change;
    } else {
      background += change;
    }
  }

  private void leave(Urgency urgency, double growth) {
    List<Turn> next = new ArrayList<>();
    synchronized (this) {
      count(urgency, -1);
      limit = Math.min(MOST, limit + growth);
      for (Urgency each : Urgency.values()) {
        while (!waiting(each).isEmpty() && mayEnter(each)) {
          count(each, 1);
          next.add(waiting(each).removeFirst());
        }
        if (!waiting(each).isEmpty()) {
          break;
        }
      }
    }
    next.forEach(turn -> turn.come.complete(true));
  }
}
