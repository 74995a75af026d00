package io.alluvium.testkit.script;

import io.alluvium.StateBackend;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Where a script's job runs: one process at a time, over one blob store that survives it. */
public interface Deployment extends AutoCloseable {

  /** Starts a process. */
  StateBackend start(Map<String, String> settings);

  /** SIGKILL of the process that was started last. */
  void kill();

  <T> T await(CompletableFuture<T> future);

  void sleep(Duration duration);

  /**
   * Goes on long enough for a periodic materialization of each backend, if the settings of the
   * process have any.
   */
  Duration materializationPause();

  /** Lets background work go on for a moment, perhaps. */
  void pause(String step);

  /** Adds a rule, see {@code FaultRule}. */
  void fault(String rule);

  /** No rules any more. */
  void heal();

  /** Names of the blobs in the store that start with {@code prefix}. */
  List<String> blobs(String prefix);

  /** Takes a blob out of the store behind everybody's back. */
  void lose(String blob);

  /** Inverts a bit of a stored blob behind everybody's back. */
  void flip(String blob);

  @Override
  void close();
}
