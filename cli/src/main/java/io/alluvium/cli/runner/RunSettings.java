package io.alluvium.cli.runner;

import io.alluvium.cli.job.Job;
import io.alluvium.config.CoreOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a run was asked for. Immutable.
 *
 * @param maxParallelism empty when not given: that of the checkpoint, or 128
 * @param recordsPerSecond of the whole job; empty for no limit
 * @param tolerated how long storage behind a network may be away before the job ends
 * @param backend the settings of the state backend, complete
 */
public record RunSettings(
    Job job,
    List<Path> inputs,
    Path output,
    String jobName,
    int parallelism,
    Optional<Integer> maxParallelism,
    Duration checkpointInterval,
    Optional<Double> recordsPerSecond,
    Duration tolerated,
    StartMode start,
    BadRecords badRecords,
    Map<String, String> backend) {

  public RunSettings {
    inputs = List.copyOf(inputs);
    backend = Map.copyOf(backend);
  }

  /** Adds where checkpoints and tables go, below the output, unless the settings say so. */
  public static Map<String, String> withDefaults(Map<String, String> settings, Path output) {
    Map<String, String> all = new HashMap<>(settings);
    all.putIfAbsent(
        CoreOptions.CHECKPOINT_DIRECTORY.key(), OutputDirectory.checkpoints(output).toString());
    String local = OutputDirectory.local(output).toString();
    // The option is a list; a path with a comma cannot stand in it.
    if (local.indexOf(',') < 0) {
      all.putIfAbsent(CoreOptions.LOCAL_DIRECTORIES.key(), local);
    }
    return all;
  }

  /** The same, but from the beginning. */
  RunSettings startingOver() {
    return new RunSettings(
        job,
        inputs,
        output,
        jobName,
        parallelism,
        maxParallelism,
        checkpointInterval,
        recordsPerSecond,
        tolerated,
        StartMode.FRESH,
        badRecords,
        backend);
  }

  /** Where a run starts. */
  public enum StartMode {
    /** At the newest checkpoint, or at the beginning when there is none. */
    RESUME,
    /** At the beginning; old output and checkpoints of the job are removed. */
    FRESH
  }
}
