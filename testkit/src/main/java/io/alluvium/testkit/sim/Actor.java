package io.alluvium.testkit.sim;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** One thread of a simulated process. Used only by the actor whose turn it is. */
final class Actor {

  /** Whether a run waits for the actor to end. */
  enum Role {
    FOREGROUND,
    BACKGROUND
  }

  final SimulatedProcess process;
  final String name;
  final Role role;
  final Semaphore turn = new Semaphore(0);
  final CountDownLatch ended = new CountDownLatch(1);

  /** The last scheduling point, for traces and dumps. */
  String point = "start";

  /** The future that the actor waits for. */
  @Nullable CompletableFuture<?> until;

  /** Set when a thread starts to run the actor. */
  @Nullable Thread thread;

  boolean held;

  /** Whether the killer of its process gave the actor its last turn. */
  boolean unwound;

  /** Number of calls by the actor after its process was killed. */
  int deadCalls;

  Actor(SimulatedProcess process, String name, Role role) {
    this.process = process;
    this.name = name;
    this.role = role;
  }

  boolean isRunnable() {
    return !held && (until == null || until.isDone());
  }

  @Override
  public String toString() {
    return process.name() + "/" + name;
  }
}
