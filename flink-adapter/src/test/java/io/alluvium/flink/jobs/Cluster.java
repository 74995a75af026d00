package io.alluvium.flink.jobs;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.AbstractCheckpointStats;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointStatsHistory;
import org.apache.flink.runtime.checkpoint.CheckpointStatsStatus;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStats;
import org.apache.flink.runtime.checkpoint.TaskStateStats;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecution;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.graph.StreamGraph;

/** Two TaskManagers in this process, each of which may be taken away. Confined to one thread. */
public final class Cluster implements AutoCloseable {

  private static final long POLL_MILLIS = 5;
  private static final long TIMEOUT_SECONDS = 60;

  private final MiniCluster cluster;
  private int oldest;

  /** Starts it with more settings of one's own. */
  public Cluster(Configuration configuration) throws Exception {
    Configuration all = new Configuration();
    all.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(128));
    all.set(TaskManagerOptions.SLOT_TIMEOUT, Duration.ofSeconds(30));
    all.set(RestOptions.BIND_PORT, "0");
    all.addAll(configuration);
    cluster =
        new MiniCluster(
            new MiniClusterConfiguration.Builder()
                .setConfiguration(all)
                .setNumTaskManagers(2)
                .setNumSlotsPerTaskManager(4)
                .build());
    cluster.start();
  }

  public JobID submit(StreamGraph job, SavepointRestoreSettings from) throws Exception {
    job.setJobId(new JobID());
    job.setSavepointRestoreSettings(from);
    return cluster.submitJob(job).get(TIMEOUT_SECONDS, TimeUnit.SECONDS).getJobID();
  }

  /** Stops a TaskManager and starts another. */
  public void replaceTaskManager() throws Exception {
    cluster.terminateTaskManager(oldest++).get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    cluster.startTaskManager();
  }

  /** The newest checkpoint of a job that is cancelled now. */
  public String cancel(JobID job) throws Exception {
    cluster.cancelJob(job).get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    cluster.requestJobResult(job).get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    CompletedCheckpointStats newest = history(job).getLatestCompletedCheckpoint();
    if (newest == null) {
      throw new AssertionError("the job left no checkpoint");
    }
    return newest.getExternalPath();
  }

  /** The savepoint with which a job stopped; waits until its tasks are ready for one. */
  public String stop(JobID job, String directory, SavepointFormatType format) throws Exception {
    String path = null;
    while (path == null) {
      try {
        path =
            cluster
                .stopWithSavepoint(job, directory, false, format)
                .get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
      } catch (ExecutionException e) {
        if (!isNotReady(e)) {
          throw e;
        }
        // A planned failure is just being recovered from.
        awaitCheckpoint(job);
      }
    }
    awaitFinished(job);
    return path;
  }

  /** Whether a task was not running yet, or not any more: it says nothing of the savepoint. */
  private static boolean isNotReady(ExecutionException failure) {
    return failure.getCause() instanceof CheckpointException declined
        && switch (declined.getCheckpointFailureReason()) {
          case CHECKPOINT_DECLINED_TASK_NOT_READY,
              CHECKPOINT_DECLINED_TASK_CLOSING,
              CHECKPOINT_COORDINATOR_SUSPEND,
              JOB_FAILOVER_REGION,
              NOT_ALL_REQUIRED_TASKS_RUNNING,
              TASK_CHECKPOINT_FAILURE,
              TASK_FAILURE ->
              true;
          default -> false;
        };
  }

  /** Fails with the job's failure if it came to an end before its time. */
  public void checkRunning(JobID job) throws Exception {
    JobStatus status = cluster.getJobStatus(job).get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    if (status.isGloballyTerminalState()) {
      awaitFinished(job);
      throw new AssertionError("the job ended before its sources did");
    }
  }

  public void awaitFinished(JobID job) throws Exception {
    awaitFinished(job, Duration.ofSeconds(TIMEOUT_SECONDS));
  }

  /** Fails if the job does, or is not done in time. */
  public void awaitFinished(JobID job, Duration timeout) throws Exception {
    JobResult result = cluster.requestJobResult(job).get(timeout.toMillis(), TimeUnit.MILLISECONDS);
    if (!result.isSuccess()) {
      throw new AssertionError(
          "the job failed",
          result
              .getSerializedThrowable()
              .map(failure -> failure.deserializeError(Cluster.class.getClassLoader()))
              .orElse(null));
    }
  }

  /** Waits for a checkpoint that completes from now on. */
  public void awaitCheckpoint(JobID job) throws Exception {
    long before = newestCheckpoint(job);
    while (newestCheckpoint(job) == before) {
      checkRunning(job);
      Thread.sleep(POLL_MILLIS);
    }
  }

  /** By its id, since the history is short and soon has as many as it can hold. */
  private long newestCheckpoint(JobID job) throws Exception {
    CompletedCheckpointStats newest = history(job).getLatestCompletedCheckpoint();
    return newest == null ? -1 : newest.getCheckpointId();
  }

  /**
   * A completed checkpoint.
   *
   * @param triggered wall-clock time, in milliseconds
   * @param millis from then until the last subtask had answered
   * @param syncMillis the synchronous part of the slowest subtask
   * @param asyncMillis the asynchronous part of the slowest subtask
   * @param bytes stored for it
   */
  public record Completed(
      long triggered, long millis, long syncMillis, long asyncMillis, long bytes) {}

  /** Those in the history of a job. */
  public List<Completed> checkpoints(JobID job) throws Exception {
    return history(job).getCheckpoints().stream()
        .filter(stats -> stats.getStatus() == CheckpointStatsStatus.COMPLETED)
        .map(
            stats ->
                new Completed(
                    stats.getTriggerTimestamp(),
                    stats.getEndToEndDuration(),
                    slowest(stats, task -> task.getSyncCheckpointDurationStats().getMaximum()),
                    slowest(stats, task -> task.getAsyncCheckpointDurationStats().getMaximum()),
                    stats.getCheckpointedSize()))
        .toList();
  }

  private static long slowest(
      AbstractCheckpointStats stats, ToLongFunction<TaskStateStats.TaskStateStatsSummary> part) {
    return stats.getAllTaskStateStats().stream()
        .mapToLong(task -> part.applyAsLong(task.getSummaryStats()))
        .max()
        .orElse(0);
  }

  /** How long the slowest task of a job took for its state. */
  public long restoreMillis(JobID job) throws Exception {
    long slowest = 0;
    for (AccessExecutionVertex vertex : graph(job).getAllExecutionVertices()) {
      AccessExecution execution = vertex.getCurrentExecutionAttempt();
      slowest =
          Math.max(
              slowest,
              execution.getStateTimestamp(ExecutionState.RUNNING)
                  - execution.getStateTimestamp(ExecutionState.INITIALIZING));
    }
    return slowest;
  }

  private CheckpointStatsHistory history(JobID job) throws Exception {
    return Objects.requireNonNull(graph(job).getCheckpointStatsSnapshot()).getHistory();
  }

  private AccessExecutionGraph graph(JobID job) throws Exception {
    return cluster.getExecutionGraph(job).get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
  }

  @Override
  public void close() throws IOException {
    try {
      cluster.close();
    } catch (IOException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException("the cluster did not close", e);
    }
  }
}
