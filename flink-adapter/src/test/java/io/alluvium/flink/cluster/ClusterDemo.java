package io.alluvium.flink.cluster;

import io.alluvium.flink.jobs.ClusterJob;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * A job on a real cluster with the adapter's jar: a TaskManager is killed in the middle, the job
 * recovers, is rescaled with a savepoint, loses a TaskManager again, and must still have emitted
 * exactly what its model says. {@code bin/flink-demo} runs it. Confined to one thread.
 */
final class ClusterDemo {

  private static final int CHECKPOINTS = 5;

  private final Path directory;
  private final ProcessCluster cluster;
  private final ClusterJob job;
  private final JobControl control;
  private final PrintStream console;

  private ClusterDemo(Path directory, ProcessCluster cluster, ClusterJob job, PrintStream console) {
    this.directory = directory;
    this.cluster = cluster;
    this.job = job;
    this.control = new JobControl(cluster, job);
    this.console = console;
  }

  /** Takes a directory that is not there yet, Flink's class path, the adapter, and its place. */
  public static void main(String[] args) throws Exception {
    if (args.length != 4) {
      System.err.println("usage: ClusterDemo DIRECTORY FLINK_CLASS_PATH ADAPTER_JAR lib|user-jar");
      System.exit(2);
    }
    run(
        Path.of(args[0]),
        new Installation(args[1], Path.of(args[2]), Installation.Layout.named(args[3])),
        System.out);
  }

  /** Plays the whole scenario; throws when a line is wrong or missing. */
  static void run(Path directory, Installation installation, PrintStream console) throws Exception {
    Files.createDirectories(directory);
    try (ProcessCluster cluster =
        ProcessCluster.start(directory, installation.classPath(), settings(directory))) {
      new ClusterDemo(directory, cluster, ClusterJob.of(directory, installation.withJob()), console)
          .play();
    }
  }

  /** Alluvium with frequent checkpoints in files below a directory. */
  static Map<String, String> settings(Path directory) {
    return Map.of(
        "state.backend.type", "io.alluvium.flink.AlluviumStateBackendFactory",
        "alluvium.changelog.periodic-materialize.interval", "2 s",
        "execution.checkpointing.dir", directory.resolve("checkpoints").toUri().toString(),
        "execution.checkpointing.interval", "300 ms",
        "execution.checkpointing.data-inline-threshold", "0 b",
        "execution.checkpointing.tolerable-failed-checkpoints", "3",
        "restart-strategy.type", "fixed-delay",
        "restart-strategy.fixed-delay.attempts", "100",
        "restart-strategy.fixed-delay.delay", "200 ms");
  }

  private void play() throws Exception {
    String first = cluster.startTaskManager();
    cluster.startTaskManager();
    control.awaitSlots(4);
    console.println("cluster: a JobManager and two TaskManagers with two slots each are up");

    String id = control.submit(4, List.of());
    console.println("job " + id + ": submitted with parallelism 4");
    control.awaitCheckpoints(id, CHECKPOINTS);
    control.awaitLines(1);
    console.println("job: " + CHECKPOINTS + " checkpoints completed; " + first + " gets SIGKILL");
    killAndRecover(id, first);

    String savepoint = control.stop(id, directory.resolve("savepoints").toUri().toString());
    control.checkNothingWrong();
    console.println("job: stopped with savepoint " + savepoint);

    String rescaled = control.submit(3, List.of("-s", savepoint));
    console.println("job " + rescaled + ": resumed from it with parallelism 3");
    control.awaitCheckpoints(rescaled, CHECKPOINTS);
    console.println("job: " + CHECKPOINTS + " checkpoints more; taskmanager-2 gets SIGKILL");
    killAndRecover(rescaled, "taskmanager-2");
    job.fullSpeed();
    control.awaitFinished(rescaled);
    int lines = job.checkComplete();
    console.println("result: exact, " + lines + " lines, none wrong, none missing");
  }

  private void killAndRecover(String id, String taskManager) throws Exception {
    int lines = job.lines().size();
    cluster.kill(taskManager);
    String replacement = cluster.startTaskManager();
    control.awaitRestore(id);
    control.awaitCheckpoints(id, control.completedCheckpoints(id) + 2);
    control.awaitLines(lines + 1);
    control.checkNothingWrong();
    console.println(
        "job: recovered with " + replacement + " and completes checkpoints; nothing wrong so far");
  }
}
