package io.alluvium.testkit.sim;

import java.io.Serial;

/** Unwinds the thread of an actor whose process is dead. Must not be caught. Immutable. */
final class ProcessKilled extends Error {

  @Serial private static final long serialVersionUID = 1L;

  ProcessKilled(String process) {
    super("process " + process + " is dead", null, false, false);
  }
}
