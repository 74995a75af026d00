package io.alluvium.flink.bench;

import io.alluvium.flink.AlluviumOptions;
import io.alluvium.flink.AlluviumStateBackendFactory;
import java.nio.file.Path;
import java.time.Duration;
import org.apache.flink.changelog.fs.FsStateChangelogOptions;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExternalizedCheckpointRetention;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.configuration.StateChangelogOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.configuration.WebOptions;

/** The backends that are compared, each as its users would configure it. */
enum Contender {
  FLINK_ROCKSDB("Flink rocksdb, incremental") {
    @Override
    void configure(Configuration configuration, Path directory, Duration materialize) {
      configuration.set(StateBackendOptions.STATE_BACKEND, "rocksdb");
      configuration.set(CheckpointingOptions.INCREMENTAL_CHECKPOINTS, true);
    }
  },
  FLINK_CHANGELOG("Flink rocksdb + changelog") {
    @Override
    void configure(Configuration configuration, Path directory, Duration materialize) {
      FLINK_ROCKSDB.configure(configuration, directory, materialize);
      configuration.set(StateChangelogOptions.ENABLE_STATE_CHANGE_LOG, true);
      configuration.set(StateChangelogOptions.STATE_CHANGE_LOG_STORAGE, "filesystem");
      configuration.set(StateChangelogOptions.PERIODIC_MATERIALIZATION_INTERVAL, materialize);
      configuration.set(
          FsStateChangelogOptions.BASE_PATH, directory.resolve("dstl").toUri().toString());
    }
  },
  ALLUVIUM("Alluvium") {
    @Override
    void configure(Configuration configuration, Path directory, Duration materialize) {
      configuration.set(
          StateBackendOptions.STATE_BACKEND, AlluviumStateBackendFactory.class.getName());
      configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, materialize);
    }
  };

  private static final int MANAGED_MEBIBYTES = 512;
  private static final int HISTORY = 100_000;

  private final String title;

  Contender(String title) {
    this.title = title;
  }

  String title() {
    return title;
  }

  abstract void configure(Configuration configuration, Path directory, Duration materialize);

  /** Of the cluster and the job alike. */
  Configuration configuration(Path directory, Duration checkpoint, Duration materialize) {
    Configuration configuration = new Configuration();
    configuration.set(
        CheckpointingOptions.CHECKPOINTS_DIRECTORY,
        directory.resolve("checkpoints").toUri().toString());
    configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, checkpoint);
    configuration.set(
        CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION,
        ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION);
    configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
    configuration.set(WebOptions.CHECKPOINTS_HISTORY_SIZE, HISTORY);
    configuration.set(
        TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(MANAGED_MEBIBYTES));
    configure(configuration, directory, materialize);
    return configuration;
  }
}
