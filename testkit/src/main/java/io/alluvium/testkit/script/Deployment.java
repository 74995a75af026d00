package io.alluvium.testkit.script;

import io.alluvium.StateBackend;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Runs the job of a script: one process at a time, over one blob store that survives it. Confined
 * to the script's thread.
 */
public interface Deployment extends AutoCloseable {

  /** Starts a process. */
  StateBackend start(Map<String, String> settings);

  /** Kills the process that was started last, as by SIGKILL. */
  void kill();

  <T> T await(CompletableFuture<T> future);

  void sleep(Duration duration);

  /** A time in which each backend makes a periodic materialization, if the settings enable them. */
  Duration materializationPause();

  /** May let background work run for a moment. */
  void pause(String step);

  /** Adds a rule, see {@code FaultRule}. */
  void fault(String rule);

  /** Removes all rules. */
  void heal();

  /** Names of the blobs in the store that start with {@code prefix}. */
  List<String> blobs(String prefix);

  /** Removes a blob directly from the store. */
  void lose(String blob);

  /** Inverts a bit of a blob directly in the store. */
  void flip(String blob);

  @Override
  void close();
}
