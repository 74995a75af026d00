package io.alluvium.testkit.sim;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** One thread of a simulated process. Touched only by whoever has the turn. */
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

  /** Where it stands, for traces and dumps. */
  String point = "start";

  /** What it waits for before it can go on. */
  @Nullable CompletableFuture<?> until;

  /** Set once a thread runs it. */
  @Nullable Thread thread;

  boolean held;

  /** Whether it gets its last turn from whoever killed its process. */
  boolean unwound;

  /** How often it tried to go on after its process was killed. */
  int deadCalls;

  Actor(SimulatedProcess process, String name, Role role) {
    this.process = process;
    this.name = name;
    this.role = role;
  }

  boolean canGoOn() {
    return !held && (until == null || until.isDone());
  }

  @Override
  public String toString() {
    return process.name() + "/" + name;
  }
}
