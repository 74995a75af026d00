package io.alluvium.flink.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.flink.jobs.JobRun.Place;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.graph.StreamGraph;

/**
 * The life of one job: it fails at random, is moved to more subtasks and to fewer, from a
 * checkpoint and from a savepoint, and must emit exactly the lines of its model. Confined to one
 * thread.
 */
final class RescaledJob {

  private static final long PERMITS_PER_PHASE = 3500;
  private static final long PERMITS_PER_TURN = 30;
  private static final long TURN_MILLIS = 5;

  private final Cluster cluster;
  private final String storage;
  private final Job job;
  private final long seed;
  private final Random random;
  private Consumer<String> onLeaving = path -> {};

  /**
   * What to run.
   *
   * @param storage URI of the directory of checkpoints and savepoints
   */
  RescaledJob(Cluster cluster, String storage, Job job, long seed) {
    this.cluster = cluster;
    this.storage = storage;
    this.job = job;
    this.seed = seed;
    this.random = new Random(seed * 1009 + job.name().hashCode());
  }

  /** Shows each checkpoint and savepoint that the job goes through, before a next job claims it. */
  RescaledJob onLeaving(Consumer<String> onLeaving) {
    this.onLeaving = onLeaving;
    return this;
  }

  /** Runs it to its end. */
  void run() throws Exception {
    // 15 events per second of event time and key; the phases cannot use them up.
    Traffic traffic = new Traffic(random.nextLong(), 6, 2000, 40);
    List<Configuration> configurations = new ArrayList<>();
    boolean up = random.nextBoolean();
    List<Integer> parallelisms = up ? List.of(2, 4, 1) : List.of(3, 1, 4);
    boolean savepointFirst = random.nextBoolean();
    String name = job + "-" + seed;
    JobRun run = JobRun.start(name);
    try {
      SavepointRestoreSettings from = SavepointRestoreSettings.none();
      for (int phase = 0; phase < parallelisms.size(); phase++) {
        run.beginPhase();
        planFailures(run);
        boolean last = phase == parallelisms.size() - 1;
        // Another table, with or without changelog, from phase to phase.
        Configuration configuration = Scenario.configuration(random, storage + "/checkpoints");
        boolean withSavepoint = savepointFirst == (phase == 0);
        if (!last && !withSavepoint) {
          configuration = Scenario.aligned(configuration);
        }
        configurations.add(configuration);
        JobID id =
            cluster.submit(graph(job, traffic, configuration, parallelisms.get(phase), name), from);
        awaitFailures(run, id);
        if (last) {
          run.release(Long.MAX_VALUE / 2);
          cluster.awaitFinished(id);
        } else {
          from = leave(id, withSavepoint);
          onLeaving.accept(from.getRestorePath());
        }
      }
      check(traffic, run, configurations);
    } finally {
      JobRun.end(name);
    }
  }

  /** A job whose sources wait for the permits of its run and whose lines go there. */
  static StreamGraph graph(
      Job job, Traffic traffic, Configuration configuration, int parallelism, String name) {
    StreamExecutionEnvironment env =
        StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    env.setParallelism(parallelism);
    env.setMaxParallelism(Scenario.MAX_PARALLELISM);
    job.build(env, traffic, JobRun.gated(name), new Saboteur(name))
        .map(
            line -> {
              JobRun.named(name).visit(Place.OUTPUT);
              JobRun.named(name).line(line);
              return line;
            })
        .returns(String.class)
        .uid("lines")
        .sinkTo(new DiscardingSink<>())
        .uid("sink");
    return env.getStreamGraph();
  }

  private void planFailures(JobRun run) {
    run.failAt(Place.RECORD, 1 + random.nextInt((int) PERMITS_PER_PHASE / 3));
    run.failAt(random.nextBoolean() ? Place.SNAPSHOT : Place.NOTIFICATION, 1 + random.nextInt(12));
  }

  /** Lets events through until every failure came and a checkpoint after that is complete. */
  private void awaitFailures(JobRun run, JobID id) throws Exception {
    long left = PERMITS_PER_PHASE;
    boolean replaced = random.nextInt(3) != 0;
    int completedAtEnd = -1;
    while (completedAtEnd < 0 || run.completedCheckpoints() <= completedAtEnd) {
      cluster.checkRunning(id);
      // The permits are for all sources; a trickle brings a failure that is still to come. Those at
      // checkpoints come without.
      if (left > 0) {
        run.release(PERMITS_PER_TURN);
      } else {
        run.trickle(run.plannedFailures(Place.RECORD));
      }
      left -= PERMITS_PER_TURN;
      if (!replaced && left < PERMITS_PER_PHASE / 2) {
        replaced = true;
        cluster.replaceTaskManager();
      }
      if (completedAtEnd < 0 && left <= 0 && run.plannedFailures() == 0) {
        completedAtEnd = run.completedCheckpoints();
      }
      Thread.sleep(TURN_MILLIS);
    }
  }

  private SavepointRestoreSettings leave(JobID id, boolean withSavepoint) throws Exception {
    RecoveryClaimMode mode =
        random.nextBoolean() ? RecoveryClaimMode.CLAIM : RecoveryClaimMode.NO_CLAIM;
    String path =
        withSavepoint
            ? cluster.stop(
                id,
                storage + "/savepoints",
                random.nextBoolean() && !job.isAsync()
                    ? SavepointFormatType.CANONICAL
                    : SavepointFormatType.NATIVE)
            : cluster.cancel(id);
    return SavepointRestoreSettings.forPath(path, false, mode);
  }

  private void check(Traffic traffic, JobRun run, List<Configuration> configurations) {
    Set<String> expected = job.expected(traffic);
    Set<String> actual = job.relevant(run.lines());
    assertThat(differing(actual, expected))
        .as("lines that are wrong; %s", configurations)
        .isEmpty();
    assertThat(differing(expected, actual))
        .as("lines that are missing; %s", configurations)
        .isEmpty();
    assertThat(expected).hasSizeGreaterThanOrEqualTo(traffic.keys());
  }

  private static Set<String> differing(Set<String> some, Set<String> others) {
    return some.stream()
        .filter(line -> !others.contains(line))
        .limit(20)
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
