package io.alluvium.flink.cluster;

import io.alluvium.flink.jobs.ClusterJob;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Submits a job to a cluster and watches it there. Confined to one thread. */
final class JobControl {

  private static final Pattern JOB_ID = Pattern.compile("JobID ([0-9a-f]{32})");
  private static final Pattern SAVEPOINT = Pattern.compile("Savepoint completed. Path: (\\S+)");
  private static final Pattern COMPLETED = Pattern.compile("\"completed\":(\\d+)");
  private static final Pattern RESTORED = Pattern.compile("\"restored\":(\\d+)");
  private static final Pattern STATE = Pattern.compile("\"state\":\"([A-Z]+)\"");
  private static final Pattern SLOTS = Pattern.compile("\"slots-available\":(\\d+)");

  private final ProcessCluster cluster;
  private final ClusterJob job;

  JobControl(ProcessCluster cluster, ClusterJob job) {
    this.cluster = cluster;
    this.job = job;
  }

  void awaitSlots(int count) throws IOException, InterruptedException {
    cluster.await(count + " slots", () -> number("overview", SLOTS) == count);
  }

  /** Gives the new job's id. */
  String submit(int parallelism, List<String> options) throws IOException, InterruptedException {
    List<String> arguments = new ArrayList<>(List.of("run", "-d", "-p", "" + parallelism));
    arguments.addAll(options);
    arguments.addAll(List.of("-c", ClusterJob.MAIN, job.jar().toString()));
    arguments.addAll(job.arguments());
    return match(JOB_ID, cluster.flink(arguments.toArray(new String[0])));
  }

  /** Stops a job and gives the place of its savepoint. */
  String stop(String id, String savepoints) throws IOException, InterruptedException {
    return match(SAVEPOINT, cluster.flink("stop", "--savepointPath", savepoints, id));
  }

  long completedCheckpoints(String id) throws InterruptedException {
    return number("jobs/" + id + "/checkpoints", COMPLETED);
  }

  void awaitCheckpoints(String id, long count) throws IOException, InterruptedException {
    cluster.await(
        count + " checkpoints of job " + id,
        () -> {
          state(id);
          return completedCheckpoints(id) >= count;
        });
  }

  void awaitRestore(String id) throws IOException, InterruptedException {
    cluster.await(
        "recovery of job " + id, () -> number("jobs/" + id + "/checkpoints", RESTORED) > 0);
  }

  void awaitLines(int count) throws IOException, InterruptedException {
    cluster.await(count + " lines of output", () -> job.lines().size() >= count);
  }

  void awaitFinished(String id) throws IOException, InterruptedException {
    cluster.await("the end of job " + id, () -> "FINISHED".equals(state(id)));
  }

  void checkNothingWrong() throws IOException {
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
