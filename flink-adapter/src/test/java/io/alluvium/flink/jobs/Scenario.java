package io.alluvium.flink.jobs;

import io.alluvium.flink.AlluviumOptions;
import io.alluvium.flink.AlluviumStateBackendFactory;
import java.time.Duration;
import java.util.Random;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExternalizedCheckpointRetention;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.configuration.StateRecoveryOptions;
import org.apache.flink.core.execution.CheckpointingMode;

/** What a seed says about the configuration of a job. */
final class Scenario {

  static final int MAX_PARALLELISM = 37;

  private Scenario() {}

  /**
   * Settings for a job.
   *
   * @param checkpoints URI of their directory
   */
  static Configuration configuration(Random random, String checkpoints) {
    Configuration configuration = new Configuration();
    configuration.set(
        StateBackendOptions.STATE_BACKEND, AlluviumStateBackendFactory.class.getName());
    configuration.set(AlluviumOptions.TABLE, random.nextInt(4) == 0 ? "heap" : "rocksdb");
    configuration.set(AlluviumOptions.CHANGELOG_ENABLED, random.nextInt(5) != 0);
    configuration.set(
        AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofMillis(50 + random.nextInt(500)));
    configuration.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, checkpoints);
    configuration.set(
        CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION,
        ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION);
    configuration.set(
        CheckpointingOptions.CHECKPOINTING_CONSISTENCY_MODE, CheckpointingMode.EXACTLY_ONCE);
    configuration.set(
        CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(20 + random.nextInt(60)));
    configuration.set(CheckpointingOptions.ENABLE_UNALIGNED, random.nextBoolean());
    configuration.set(
        CheckpointingOptions.FS_SMALL_FILE_THRESHOLD,
        random.nextBoolean() ? MemorySize.ZERO : MemorySize.ofMebiBytes(1));
    boolean local = random.nextBoolean();
    configuration.set(StateRecoveryOptions.LOCAL_RECOVERY, local);
    configuration.set(CheckpointingOptions.LOCAL_BACKUP_ENABLED, local);
    configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
    configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, 50);
    configuration.set(
        RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ofMillis(10));
    return configuration;
  }

  /**
   * Makes checkpoints fit for another parallelism. What an unaligned one holds between two tasks
   * includes watermarks of readers whose slices are dealt out anew then: an event of a slice that
   * was behind would be late.
   */
  static Configuration aligned(Configuration configuration) {
    return configuration.set(CheckpointingOptions.ENABLE_UNALIGNED, false);
  }
}
