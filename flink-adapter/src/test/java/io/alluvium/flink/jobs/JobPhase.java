package io.alluvium.flink.jobs;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.streaming.api.graph.StreamGraph;

/**
 * A job from one submission to the next: lets events through while the test waits for something.
 * Confined to one thread.
 */
final class JobPhase {

  private static final int RECORD_FAILURES = 2;
  private static final int RECORDS_BETWEEN_FAILURES = 400;
  private static final int NOTIFICATIONS = 12;
  private static final long EAGER_PERMITS = 3000;
  private static final long PERMITS_PER_TURN = 20;
  private static final long TURN_MILLIS = 5;

  private final Cluster cluster;
  private final JobRun run;
  private final JobID id;
  private long released;

  private JobPhase(Cluster cluster, JobRun run, JobID id) {
    this.cluster = cluster;
    this.run = run;
    this.id = id;
  }

  static JobPhase begin(
      Cluster cluster, JobRun run, StreamGraph graph, SavepointRestoreSettings from)
      throws Exception {
    run.beginPhase();
    return new JobPhase(cluster, run, cluster.submit(graph, from));
  }

  JobID id() {
    return id;
  }

  /** Something to wait for. */
  interface Condition {
    boolean holds() throws Exception;
  }

  void until(Condition condition) throws Exception {
    while (!condition.holds()) {
      cluster.checkRunning(id);
      // A slow machine must not use up the events: a trickle brings what is still to come.
      run.release(released < EAGER_PERMITS ? PERMITS_PER_TURN : 1);
      released += PERMITS_PER_TURN;
      Thread.sleep(TURN_MILLIS);
    }
  }

  /** Fails several times, and goes on until checkpoints have completed after that. */
  void fail(Random random) throws Exception {
    for (int i = 1; i <= RECORD_FAILURES; i++) {
      run.failAt(JobRun.Place.RECORD, (long) i * RECORDS_BETWEEN_FAILURES + random.nextInt(200));
    }
    if (run.plannedFailures() != RECORD_FAILURES) {
      throw new AssertionError("failures that were planned have gone");
    }
    // Last: a checkpoint needs no permit, and so this one may come at any moment from here on.
    run.failAt(JobRun.Place.NOTIFICATION, 5 + random.nextInt(10));
    until(() -> run.plannedFailures() == 0);
    untilCheckpoints();
  }

  /** Until each subtask has heard of several checkpoints more. */
  void untilCheckpoints() throws Exception {
    int before = run.completedCheckpoints();
    until(() -> run.completedCheckpoints() >= before + NOTIFICATIONS);
  }

  /** The newest checkpoint of the job, which is cancelled. */
  String cancel() throws Exception {
    return cluster.cancel(id);
  }

  /** Lets all events through until the end. */
  void finish() throws Exception {
    run.release(Long.MAX_VALUE / 2);
    cluster.awaitFinished(id);
  }

  /** The keyed state in the metadata of a checkpoint in a local directory. */
  static List<KeyedStateHandle> keyedState(String checkpoint) throws IOException {
    Path metadata = Path.of(URI.create(checkpoint)).resolve("_metadata");
    try (DataInputStream in = new DataInputStream(Files.newInputStream(metadata))) {
      return Checkpoints.loadCheckpointMetadata(in, JobPhase.class.getClassLoader(), checkpoint)
          .getOperatorStates()
          .stream()
          .flatMap(operator -> operator.getStates().stream())
          .flatMap(subtask -> subtask.getManagedKeyedState().stream())
          .toList();
    }
  }
}
