package io.alluvium.flink;

import java.time.Duration;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.StateTtlConfig.CleanupStrategies;

/** What a state's time to live asks for. Stateless. */
final class Expiry {

  /** The strategies of a configuration that asks for none: Flink's defaults. */
  private static final CleanupStrategies DEFAULTS =
      StateTtlConfig.newBuilder(Duration.ofMillis(1)).build().getCleanupStrategies();

  private Expiry() {}

  /**
   * Whether Flink may look at some entries of the state whenever it is accessed.
   *
   * <p>Flink does so for every state whose time to live has the default strategies, unless its
   * backend refuses, as Flink's own for RocksDB does. Each access would then cost several more.
   * Here it is done only where the user asked for it.
   */
  static boolean isVisited(StateTtlConfig ttl) {
    // What the user asked for is an object of its own, whatever its numbers are.
    return !ttl.isEnabled()
        || ttl.getCleanupStrategies().getIncrementalCleanupStrategy()
            != DEFAULTS.getIncrementalCleanupStrategy();
  }
}
