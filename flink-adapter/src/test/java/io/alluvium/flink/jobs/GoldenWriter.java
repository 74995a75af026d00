package io.alluvium.flink.jobs;

import io.alluvium.flink.AlluviumOptions;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;

/**
 * Writes a golden checkpoint: a materialization, a log on top of it, and what they must restore to.
 *
 * <pre>
 *   mvn -q -DskipTests -pl flink-adapter -am package
 *   cd flink-adapter/target
 *   java -cp test-classes:alluvium-flink-adapter-VERSION.jar:$(cat flink-classpath.txt) \
 *     io.alluvium.flink.jobs.GoldenWriter rocksdb ../src/test/resources/golden/NAME
 * </pre>
 *
 * Once for each released version, and never again: what it wrote must stay readable. Confined to
 * one thread.
 */
final class GoldenWriter {

  static final String EXPECTED = "expected.txt";

  private static final String CHECKPOINTS = "checkpoints";

  private static final int EVENTS = 400;
  private static final long POLL_MILLIS = 10;
  private static final String RUN = "golden";

  private GoldenWriter() {}

  public static void main(String[] args) throws Exception {
    if (args.length != 2) {
      throw new IllegalArgumentException("usage: GoldenWriter rocksdb|heap DIRECTORY");
    }
    Path directory = Path.of(args[1]).toAbsolutePath();
    Files.createDirectory(directory);
    GoldenFileSystem.root(directory);
    Configuration configuration =
        Scenario.aligned(
            Scenario.configuration(new Random(1), GoldenFileSystem.ROOT + CHECKPOINTS));
    configuration.set(AlluviumOptions.TABLE, args[0]);
    configuration.set(AlluviumOptions.CHANGELOG_ENABLED, true);
    configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofSeconds(2));
    configuration.set(CheckpointingOptions.FS_SMALL_FILE_THRESHOLD, MemorySize.ZERO);
    configuration.set(CheckpointingOptions.MAX_RETAINED_CHECKPOINTS, 1);
    JobRun run = JobRun.start(RUN);
    try (Cluster cluster = new Cluster(new Configuration())) {
      JobID job =
          cluster.submit(GoldenJob.filling(configuration, 2, RUN), SavepointRestoreSettings.none());
      process(cluster, job, run, EVENTS / 2);
      while (!haveAll(newest(directory), ".table")) {
        cluster.awaitCheckpoint(job);
      }
      process(cluster, job, run, EVENTS / 2);
      // The first that completes now may have begun before.
      cluster.awaitCheckpoint(job);
      cluster.awaitCheckpoint(job);
      cluster.cancel(job);
    } finally {
      JobRun.end(RUN);
    }
    List<KeyedStateHandle> written = newest(directory);
    if (!haveAll(written, ".table") || !haveAll(written, ".log")) {
      throw new IOException("the checkpoint holds no materialization with a log on top; try again");
    }
    Files.write(directory.resolve(EXPECTED), GoldenJob.expected(EVENTS));
  }

  private static void process(Cluster cluster, JobID job, JobRun run, int more) throws Exception {
    int before = run.lines().size();
    run.release(more);
    while (run.lines().size() < before + more) {
      cluster.checkRunning(job);
      Thread.sleep(POLL_MILLIS);
    }
  }

  /** The directory of the one checkpoint of the one job. */
  static Path checkpoint(Path directory) throws IOException {
    try (DirectoryStream<Path> jobs = Files.newDirectoryStream(directory.resolve(CHECKPOINTS))) {
      for (Path job : jobs) {
        try (DirectoryStream<Path> checkpoints = Files.newDirectoryStream(job, "chk-*")) {
          for (Path checkpoint : checkpoints) {
            if (Files.exists(checkpoint.resolve("_metadata"))) {
              return checkpoint;
            }
          }
        }
      }
    }
    throw new IOException("no checkpoint in " + directory);
  }

  private static List<KeyedStateHandle> newest(Path directory) {
    try {
      return JobPhase.keyedState(checkpoint(directory).toUri().toString());
    } catch (IOException e) {
      // None yet, or a newer one has just taken its place.
      return List.of();
    }
  }

  private static boolean haveAll(List<KeyedStateHandle> handles, String ending) {
    return !handles.isEmpty()
        && handles.stream()
            .allMatch(
                handle ->
                    ((IncrementalRemoteKeyedStateHandle) handle)
                        .getSharedState().stream()
                            .anyMatch(file -> file.getLocalPath().endsWith(ending)));
  }
}
