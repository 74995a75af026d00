package io.alluvium.flink.cluster;

import io.alluvium.flink.jobs.ClusterJob;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A job on a real cluster with the adapter in {@code lib/}: a TaskManager is killed in the middle,
 * the job recovers, is rescaled with a savepoint, loses a TaskManager again, and must still have
 * emitted exactly what its model says. {@code bin/flink-demo} runs it. Confined to one thread.
 */
final class ClusterDemo {

  private static final Pattern JOB_ID = Pattern.compile("JobID ([0-9a-f]{32})");
  private static final Pattern SAVEPOINT = Pattern.compile("Savepoint completed. Path: (\\S+)");
  private static final Pattern COMPLETED = Pattern.compile("\"completed\":(\\d+)");
  private static final Pattern RESTORED = Pattern.compile("\"restored\":(\\d+)");
  private static final Pattern STATE = Pattern.compile("\"state\":\"([A-Z]+)\"");
  private static final Pattern SLOTS = Pattern.compile("\"slots-available\":(\\d+)");
  private static final int CHECKPOINTS = 5;

  private final Path directory;
  private final ProcessCluster cluster;
  private final ClusterJob job;
  private final PrintStream console;

  private ClusterDemo(Path directory, ProcessCluster cluster, ClusterJob job, PrintStream console) {
    this.directory = directory;
    this.cluster = cluster;
    this.job = job;
    this.console = console;
  }

  /** Takes a directory that is not there yet, and the class path of the cluster. */
  public static void main(String[] args) throws Exception {
    if (args.length != 2) {
      System.err.println("usage: ClusterDemo DIRECTORY CLASS_PATH");
      System.exit(2);
    }
    run(Path.of(args[0]), args[1], System.out);
  }

  /**
   * Plays the whole scenario; throws when a line is wrong or missing.
   *
   * @param classPath Flink's jars and the adapter's
   */
  static void run(Path directory, String classPath, PrintStream console) throws Exception {
    Files.createDirectories(directory);
    Map<String, String> settings =
        Map.of(
            "state.backend.type", "io.alluvium.flink.AlluviumStateBackendFactory",
            "alluvium.changelog.periodic-materialize.interval", "2 s",
            "execution.checkpointing.dir", directory.resolve("checkpoints").toUri().toString(),
            "execution.checkpointing.interval", "300 ms",
            "execution.checkpointing.data-inline-threshold", "0 b",
            "execution.checkpointing.tolerable-failed-checkpoints", "3",
            "restart-strategy.type", "fixed-delay",
            "restart-strategy.fixed-delay.attempts", "100",
            "restart-strategy.fixed-delay.delay", "200 ms");
    try (ProcessCluster cluster = ProcessCluster.start(directory, classPath, settings)) {
      new ClusterDemo(directory, cluster, ClusterJob.of(directory), console).play();
    }
  }

  private void play() throws Exception {
    String first = cluster.startTaskManager();
    cluster.startTaskManager();
    cluster.await("two TaskManagers", () -> number("overview", SLOTS) == 4);
    console.println("cluster: a JobManager and two TaskManagers with two slots each are up");

    String id = submit(4, List.of());
    console.println("job " + id + ": submitted with parallelism 4");
    awaitCheckpoints(id, CHECKPOINTS);
    awaitLines(1);
    console.println("job: " + CHECKPOINTS + " checkpoints completed; " + first + " gets SIGKILL");
    killAndRecover(id, first);

    String savepoint =
        match(
            SAVEPOINT,
            cluster.flink(
                "stop", "--savepointPath", directory.resolve("savepoints").toUri().toString(), id));
    checkNothingWrong();
    console.println("job: stopped with savepoint " + savepoint);

    String rescaled = submit(3, List.of("-s", savepoint));
    console.println("job " + rescaled + ": resumed from it with parallelism 3");
    awaitCheckpoints(rescaled, CHECKPOINTS);
    console.println("job: " + CHECKPOINTS + " checkpoints more; taskmanager-2 gets SIGKILL");
    killAndRecover(rescaled, "taskmanager-2");
    job.fullSpeed();
    cluster.await("the end of the job", () -> "FINISHED".equals(state(rescaled)));
    int lines = job.checkComplete();
    console.println("result: exact, " + lines + " lines, none wrong, none missing");
  }

  private String submit(int parallelism, List<String> options) throws Exception {
    List<String> arguments = new ArrayList<>(List.of("run", "-d", "-p", "" + parallelism));
    arguments.addAll(options);
    arguments.addAll(List.of("-c", ClusterJob.MAIN, job.jar().toString()));
    arguments.addAll(job.arguments());
    return match(JOB_ID, cluster.flink(arguments.toArray(new String[0])));
  }

  private void killAndRecover(String id, String taskManager) throws Exception {
    int lines = job.lines().size();
    cluster.kill(taskManager);
    String replacement = cluster.startTaskManager();
    cluster.await(
        "recovery of job " + id, () -> number("jobs/" + id + "/checkpoints", RESTORED) > 0);
    long completed = number("jobs/" + id + "/checkpoints", COMPLETED);
    awaitCheckpoints(id, completed + 2);
    awaitLines(lines + 1);
    checkNothingWrong();
    console.println(
        "job: recovered with " + replacement + " and completes checkpoints; nothing wrong so far");
  }

  private void awaitCheckpoints(String id, long count) throws Exception {
    cluster.await(
        count + " checkpoints of job " + id,
        () -> number("jobs/" + id + "/checkpoints", COMPLETED) >= count);
  }

  private void awaitLines(int count) throws Exception {
    cluster.await(count + " lines of output", () -> job.lines().size() >= count);
  }

  private void checkNothingWrong() throws IOException {
    Set<String> wrong = job.wrong();
    if (!wrong.isEmpty()) {
      throw new AssertionError("lines that the model does not know: " + wrong);
    }
  }

  private String state(String id) throws InterruptedException {
    String answer = cluster.get("jobs/" + id);
    String state = answer == null ? "" : match(STATE, answer);
    if (state.equals("FAILED")) {
      throw cluster.failure("job " + id + " failed", "jobmanager");
    }
    return state;
  }

  private long number(String path, Pattern pattern) throws InterruptedException {
    String answer = cluster.get(path);
    return answer == null ? 0 : Long.parseLong(match(pattern, answer));
  }

  private static String match(Pattern pattern, String text) {
    Matcher matcher = pattern.matcher(text);
    if (!matcher.find()) {
      throw new AssertionError("no '" + pattern + "' in: " + text);
    }
    return Objects.requireNonNull(matcher.group(1));
  }
}
