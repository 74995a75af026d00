package io.alluvium.flink.bench;

import io.alluvium.flink.jobs.Cluster;
import io.alluvium.flink.jobs.Job;
import io.alluvium.flink.jobs.Pace;
import io.alluvium.flink.jobs.Traffic;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.util.FileUtils;

/**
 * One job in a MiniCluster on each backend in turn, again and again: throughput, processor time,
 * allocation, checkpoints, restore, exactness. Confined to one thread.
 *
 * <p>Each run has three parts, with checkpoints all the while. The first takes half of the records
 * at full speed, where a checkpoint mostly waits for records that were on their way before it; the
 * second takes two fifths at a pace that all backends keep up with, and is cancelled. The third
 * restores the newest checkpoint and goes on to the end.
 */
final class FlinkEvaluation {

  /**
   * What to run.
   *
   * @param rounds how often each contender gets its turn
   * @param recordsPerSecond of the second part
   */
  record Plan(
      Workload workload,
      long records,
      int keys,
      int rounds,
      int recordsPerSecond,
      int parallelism,
      Duration checkpoint,
      Duration materialize) {

    /** A short round, before which the compilers have seen none of the code. */
    private Plan warmUp() {
      return new Plan(
          workload, records / 4, keys, 1, recordsPerSecond, parallelism, checkpoint, materialize);
    }
  }

  private static final int SLICES = 8;
  private static final long POLL_MILLIS = 2;
  private static final Duration LONGEST = Duration.ofHours(1);

  private FlinkEvaluation() {}

  /**
   * Takes {@code WORKLOAD RECORDS KEYS ROUNDS RECORDS_PER_SECOND [PARALLELISM CHECKPOINT_MS
   * MATERIALIZE_MS]}.
   */
  public static void main(String[] args) throws Exception {
    if (args.length != 5 && args.length != 8) {
      System.err.println(
          "usage: FlinkEvaluation wordcount|sliding_window|window_of_records RECORDS KEYS ROUNDS RECORDS_PER_SECOND"
              + " [PARALLELISM CHECKPOINT_MS MATERIALIZE_MS]");
      System.exit(2);
    }
    boolean all = args.length == 8;
    Plan plan =
        new Plan(
            Workload.valueOf(args[0].toUpperCase(Locale.ROOT)),
            Long.parseLong(args[1]),
            Integer.parseInt(args[2]),
            Integer.parseInt(args[3]),
            Integer.parseInt(args[4]),
            all ? Integer.parseInt(args[5]) : 2,
            Duration.ofMillis(all ? Long.parseLong(args[6]) : 500),
            Duration.ofMillis(all ? Long.parseLong(args[7]) : 30_000));
    System.out.println("warm-up, not counted");
    run(plan.warmUp(), System.out);
    run(plan, System.out);
    // Flink's changelog leaves threads behind that would keep the process.
    System.exit(0);
  }

  /** Runs everything and gives the medians. */
  static Map<Contender, Measured> run(Plan plan, PrintStream out) throws Exception {
    out.println(plan);
    out.println(Measured.HEADER);
    Traffic traffic = new Traffic(1, SLICES, plan.records / SLICES, plan.keys);
    Map<String, Long> expected = plan.workload.expected(traffic);
    Map<Contender, List<Measured>> runs = new EnumMap<>(Contender.class);
    for (int round = 0; round < plan.rounds; round++) {
      for (Contender contender : contenders()) {
        Path directory = Files.createTempDirectory(scratch(), "evaluation");
        try {
          Measured measured = new Turn(plan, traffic, contender, directory).play(expected);
          out.println(measured.line(contender.title()));
          runs.computeIfAbsent(contender, unused -> new ArrayList<>()).add(measured);
        } finally {
          FileUtils.deleteDirectoryQuietly(directory.toFile());
        }
      }
    }
    Map<Contender, Measured> medians = new EnumMap<>(Contender.class);
    out.println("medians; checkpoints of all rounds together");
    runs.forEach(
        (contender, all) -> {
          medians.put(contender, Measured.median(all));
          out.println(Measured.median(all).line(contender.title()));
        });
    return medians;
  }

  /** All, or those that {@code -Dalluvium.contenders=NAME,NAME} names. */
  private static List<Contender> contenders() {
    String names = System.getProperty("alluvium.contenders");
    return names == null
        ? List.of(Contender.values())
        : Arrays.stream(names.split(",")).map(Contender::valueOf).toList();
  }

  private static Path scratch() throws IOException {
    String directory = System.getProperty("alluvium.scratch", System.getProperty("java.io.tmpdir"));
    return Files.createDirectories(Path.of(directory));
  }

  /** The source's quota, in one process with the test; readers wait when it is used up. */
  private static final class Quota {
    private static final CompletableFuture<Void> NOW = CompletableFuture.completedFuture(null);
    private static final AtomicLong LEFT = new AtomicLong();
    private static volatile CompletableFuture<Void> more = new CompletableFuture<>();

    private Quota() {}

    /** A reader that waits is let go with the next release; its record is taken from the quota. */
    static CompletableFuture<Void> next() {
      CompletableFuture<Void> released = more;
      return LEFT.decrementAndGet() >= 0 ? NOW : released;
    }

    static void set(long records) {
      LEFT.set(records);
      letGo();
    }

    static void release(long records) {
      LEFT.addAndGet(records);
      letGo();
    }

    private static void letGo() {
      CompletableFuture<Void> before = more;
      more = new CompletableFuture<>();
      before.complete(null);
    }
  }

  /** One contender, once. */
  private static final class Turn {

    private final Plan plan;
    private final Traffic traffic;
    private final Configuration configuration;

    Turn(Plan plan, Traffic traffic, Contender contender, Path directory) {
      this.plan = plan;
      this.traffic = traffic;
      this.configuration = contender.configuration(directory, plan.checkpoint, plan.materialize);
    }

    Measured play(Map<String, Long> expected) throws Exception {
      Workload.RESULTS.clear();
      Workload.UPDATES.reset();
      try (Cluster cluster = new Cluster(configuration)) {
        long records = plan.records / 2;
        Quota.set(records);
        JobID first = cluster.submit(graph(), SavepointRestoreSettings.none());
        awaitUpdates(cluster, first, 1, () -> {});
        long startNanos = System.nanoTime();
        long startCpuNanos = cpuNanos();
        Allocations allocations = Allocations.begin();
        awaitUpdates(cluster, first, records * plan.workload.updatesPerRecord(), allocations::look);
        double seconds = (System.nanoTime() - startNanos) / 1e9;
        double cpuMicros = (cpuNanos() - startCpuNanos) / 1e3;
        double allocatedBytes = allocations.bytes();
        cluster.awaitCheckpoint(first);
        long pacedFrom = System.currentTimeMillis();
        pace(cluster, first);
        cluster.awaitCheckpoint(first);
        String checkpoint = cluster.cancel(first);
        List<Cluster.Completed> checkpoints = cluster.checkpoints(first);

        Quota.set(Long.MAX_VALUE / 2);
        JobID second = cluster.submit(graph(), restoring(checkpoint));
        cluster.awaitFinished(second, LONGEST);
        return new Measured(
            records / seconds,
            cpuMicros / records,
            allocatedBytes / records,
            checkpoints.stream().filter(each -> each.triggered() < pacedFrom).toList(),
            checkpoints.stream().filter(each -> each.triggered() >= pacedFrom).toList(),
            cluster.restoreMillis(second),
            Workload.RESULTS.equals(expected));
      }
    }

    private void pace(Cluster cluster, JobID job) throws Exception {
      long records = plan.records * 2 / 5;
      long start = System.nanoTime();
      long released = 0;
      while (released < records) {
        cluster.checkRunning(job);
        Thread.sleep(POLL_MILLIS);
        double seconds = (System.nanoTime() - start) / 1e9;
        long due = Math.min(records, (long) (seconds * plan.recordsPerSecond));
        Quota.release(due - released);
        released = due;
      }
    }

    private static SavepointRestoreSettings restoring(String checkpoint) {
      // Flink's changelog knows no other mode.
      return SavepointRestoreSettings.forPath(checkpoint, false, RecoveryClaimMode.CLAIM);
    }

    private StreamGraph graph() {
      StreamExecutionEnvironment env =
          StreamExecutionEnvironment.getExecutionEnvironment(configuration);
      env.setParallelism(plan.parallelism);
      Pace pace = Quota::next;
      plan.workload.build(Job.source(env, "events", traffic, pace)).sinkTo(new DiscardingSink<>());
      return env.getStreamGraph();
    }

    private static void awaitUpdates(Cluster cluster, JobID job, long count, Runnable meanwhile)
        throws Exception {
      while (Workload.UPDATES.sum() < count) {
        cluster.checkRunning(job);
        meanwhile.run();
        Thread.sleep(POLL_MILLIS);
      }
    }

    private static long cpuNanos() {
      return ((com.sun.management.OperatingSystemMXBean)
              ManagementFactory.getOperatingSystemMXBean())
          .getProcessCpuTime();
    }
  }
}
