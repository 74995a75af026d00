package io.alluvium.benchmarks;

import java.io.PrintStream;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * Measures the processing time of a checkpoint, without storage, as the changelog since the last
 * materialization grows. Takes checkpoints on a store in memory without materializations; prints
 * the medians of each tenth.
 *
 * <p>Arguments: changes between two checkpoints, checkpoints.
 */
public final class Commits {

  private Commits() {}

  public static void main(String[] args) {
    PrintStream out = System.out;
    if (args.length != 2) {
      out.println("usage: Commits CHANGES CHECKPOINTS");
      System.exit(2);
    }
    int changes = Integer.parseInt(args[0]);
    int checkpoints = Integer.parseInt(args[1]);
    Map<String, String> settings = new HashMap<>();
    settings.put("state.checkpoints.dir", "memory:commits");
    settings.put("state.backend.changelog.periodic-materialize.interval", "0");
    settings.put("alluvium.restore.time-objective", "0");
    settings.put("state.backend.type", "heap");
    try (S3Job job = new S3Job(settings, changes)) {
      for (int checkpoint = 1; checkpoint <= checkpoints; checkpoint++) {
        job.checkpoint();
        if (checkpoint % Math.max(1, checkpoints / 10) == 0) {
          out.printf(
              Locale.ROOT,
              "up to %d blocks, manifest %d bytes: changelog suffix durable %d us, commit %d us%n",
              checkpoint,
              job.manifestBytes(),
              job.tail.getValueAtPercentile(50) / 1000,
              job.commit.getValueAtPercentile(50) / 1000);
          job.warm();
        }
      }
    }
  }
}
