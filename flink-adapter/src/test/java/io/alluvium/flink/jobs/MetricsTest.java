package io.alluvium.flink.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.flink.AlluviumOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateRecoveryOptions;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Histogram;
import org.apache.flink.metrics.Metric;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.testutils.InMemoryReporter;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What Alluvium measures appears in the metric group of the operator, and the values are those of
 * what happened: in a healthy storage, in one that refuses files, and in a slow one.
 */
final class MetricsTest {

  private static final String NAME = "metrics";
  private static final long MINUTE_MICROS = TimeUnit.MINUTES.toMicros(1);
  private static final long MINUTE_MILLIS = TimeUnit.MINUTES.toMillis(1);
  private static final long UNSEALED_BYTES = 5 << 20;

  private final InMemoryReporter reporter = InMemoryReporter.createWithRetainedMetrics();

  @TempDir Path directory;

  @BeforeEach
  void start() {
    FlakyFileSystem.fail(0, 0);
    FlakyFileSystem.slow(0);
  }

  @AfterEach
  void end() {
    FlakyFileSystem.fail(0, 0);
    FlakyFileSystem.slow(0);
    JobRun.end(NAME);
  }

  private Configuration configuration() {
    Configuration configuration =
        Scenario.configuration(new Random(1), "flaky://" + directory.toUri().getPath());
    configuration.set(AlluviumOptions.TABLE, "rocksdb");
    configuration.set(AlluviumOptions.CHANGELOG_ENABLED, true);
    configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofMillis(50));
    configuration.set(CheckpointingOptions.FS_SMALL_FILE_THRESHOLD, MemorySize.ZERO);
    configuration.set(CheckpointingOptions.TOLERABLE_FAILURE_NUMBER, Integer.MAX_VALUE);
    configuration.set(CheckpointingOptions.ENABLE_UNALIGNED, false);
    // No attempt is too slow on a slow machine; where some shall be, the test says so.
    configuration.setString("dstl.dfs.upload.timeout", "1 min");
    configuration.set(StateRecoveryOptions.LOCAL_RECOVERY, false);
    configuration.set(CheckpointingOptions.LOCAL_BACKUP_ENABLED, false);
    configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
    return configuration;
  }

  /**
   * The metrics of one job, which go on moving, by their names below Alluvium's group; it has one
   * keyed operator.
   */
  private record Values(Map<String, Metric> metrics) {

    /** Of a counter or a gauge; of a histogram its greatest. */
    long get(String name) {
      Metric metric = metrics.get(name);
      if (metric instanceof Counter counter) {
        return counter.getCount();
      }
      if (metric instanceof Gauge<?> gauge) {
        return (Long) gauge.getValue();
      }
      if (metric instanceof Histogram histogram) {
        return histogram.getStatistics().getMax();
      }
      throw new AssertionError("no metric '" + name + "' among " + metrics.keySet());
    }

    /** How often a histogram was told something. */
    long count(String name) {
      return metrics.get(name) instanceof Histogram histogram ? histogram.getCount() : 0;
    }

    boolean moved(String... names) {
      return Arrays.stream(names)
          .allMatch(name -> metrics.containsKey(name) && (count(name) > 0 || get(name) > 0));
    }

    @Override
    public String toString() {
      Map<String, Long> all = new TreeMap<>();
      metrics.keySet().forEach(name -> all.put(name, get(name)));
      return all.toString();
    }
  }

  private Values values(JobID job) {
    String group = ".alluvium.";
    Map<String, Metric> own = new TreeMap<>();
    reporter
        .getMetricsByIdentifiers(job)
        .forEach(
            (name, metric) -> {
              int at = name.indexOf(group);
              if (at >= 0) {
                own.put(name.substring(at + group.length()), metric);
              }
            });
    return new Values(own);
  }

  private static StreamGraph graph(Configuration configuration) {
    StreamExecutionEnvironment env =
        StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    env.setParallelism(1);
    Job.TUMBLING
        .build(env, new Traffic(1, 2, 50_000_000, 2000), JobRun.gated(NAME), event -> event)
        .sinkTo(new DiscardingSink<>())
        .uid("sink");
    return env.getStreamGraph();
  }

  /** Lets events through until the metrics are as they should become. */
  private Values runUntil(Cluster cluster, JobID job, Predicate<Values> condition)
      throws Exception {
    long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    Values values = values(job);
    while (!condition.test(values)) {
      assertThat(System.nanoTime()).as("deadline; %s", values).isLessThan(deadline);
      cluster.checkRunning(job);
      JobRun.named(NAME).release(100);
      Thread.sleep(5);
      values = values(job);
    }
    return values;
  }

  private Cluster cluster() throws Exception {
    return new Cluster(reporter.addToConfiguration(new Configuration()));
  }

  @Test
  void healthyJob_andItsRestore() throws Exception {
    JobRun run = JobRun.start(NAME);
    try (Cluster cluster = cluster()) {
      JobID job = cluster.submit(graph(configuration()), SavepointRestoreSettings.none());
      Values values =
          runUntil(
              cluster,
              job,
              now ->
                  now.moved(
                      "checkpoint.sync.micros",
                      "checkpoint.durable.micros",
                      "checkpoint.async.micros",
                      "checkpoint.tail.bytes",
                      "checkpoint.replay.estimate.millis",
                      "changelog.upload.segments",
                      "changelog.upload.micros",
                      "materialization.completed.count",
                      "materialization.store.millis",
                      "store.log.put.count",
                      "store.manifest.put.count",
                      "store.materialization.put.count"));
      checkCheckpoints(values);
      checkFiles(values);
      checkNothingFailed(values);

      cluster.awaitCheckpoint(job);
      String checkpoint = cluster.cancel(job);
      run.beginPhase();
      JobID second =
          cluster.submit(
              graph(configuration()),
              SavepointRestoreSettings.forPath(checkpoint, false, RecoveryClaimMode.CLAIM));
      checkRestore(runUntil(cluster, second, now -> now.moved("restore.total.millis")));
    }
  }

  private static void checkCheckpoints(Values values) {
    assertThat(values.get("checkpoint.sync.micros")).isBetween(1L, MINUTE_MICROS);
    // Before it is stored it is handed over.
    assertThat(values.get("checkpoint.durable.micros")).isBetween(1L, MINUTE_MICROS);
    assertThat(values.get("checkpoint.async.micros")).isBetween(1L, MINUTE_MICROS);
    assertThat(values.count("checkpoint.async.micros"))
        .isLessThanOrEqualTo(values.count("checkpoint.sync.micros"));
    // What has to be replayed was logged before; a little of it is not sealed yet.
    assertThat(values.get("checkpoint.tail.bytes"))
        .isBetween(1L, values.get("changelog.upload.bytes") + UNSEALED_BYTES);
    assertThat(values.get("checkpoint.replay.estimate.millis")).isBetween(0L, MINUTE_MILLIS);
  }

  private static void checkFiles(Values values) {
    // The job goes on: what is counted last is looked at first.
    long segments = values.get("changelog.upload.segments");
    assertThat(values.get("changelog.upload.blocks")).isGreaterThanOrEqualTo(segments);
    assertThat(values.get("changelog.upload.bytes"))
        .isGreaterThan(values.get("changelog.upload.blocks"));
    assertThat(values.count("changelog.upload.micros")).isPositive();
    for (String purpose : new String[] {"log", "manifest", "materialization"}) {
      String put = "store." + purpose + ".put.";
      assertThat(values.get(put + "bytes")).as(put).isGreaterThan(values.get(put + "count"));
      assertThat(values.get(put + "micros")).as(put).isBetween(1L, MINUTE_MICROS);
    }
    assertThat(values.get("store.inline.bytes")).isZero();
    long materializations = values.get("materialization.completed.count");
    assertThat(values.get("materialization.stored.files")).isGreaterThanOrEqualTo(materializations);
    assertThat(values.get("materialization.stored.bytes"))
        .isGreaterThan(values.get("materialization.stored.files"));
    assertThat(values.get("materialization.store.millis")).isBetween(0L, MINUTE_MILLIS);
    assertThat(values.get("materialization.age.millis")).isBetween(0L, MINUTE_MILLIS);
  }

  private static void checkNothingFailed(Values values) {
    assertThat(values.get("store.failed.count")).isZero();
    assertThat(values.get("store.retry.count")).isZero();
    assertThat(values.get("changelog.upload.failures")).isZero();
    assertThat(values.get("materialization.failed.count")).isZero();
    assertThat(values.get("materialization.alarm.count")).isZero();
    // Of the 100 MB that may be on their way, a job that small has only a little.
    assertThat(values.get("changelog.inflight.bytes")).isBetween(0L, 10L << 20);
    assertThat(values.count("changelog.backpressure.micros")).isZero();
    assertThat(values.metrics()).doesNotContainKey("store.manifest.list.count");
  }

  private static void checkRestore(Values values) {
    assertThat(values.count("restore.total.millis")).isEqualTo(1);
    assertThat(values.get("restore.total.millis")).isBetween(1L, MINUTE_MILLIS);
    for (String part : new String[] {"download", "open", "replay"}) {
      assertThat(values.get("restore." + part + ".millis"))
          .as(part)
          .isBetween(0L, values.get("restore.total.millis"));
    }
    assertThat(values.get("restore.download.bytes")).isPositive();
    assertThat(values.get("restore.linked.files")).isNotNegative();
    assertThat(values.get("restore.replayed.changes")).isNotNegative();
  }

  @Test
  void storageThatRefusesFiles_showsFailuresAndRetries_andAnAlarmThatEnds() throws Exception {
    Configuration configuration = configuration();
    configuration.set(AlluviumOptions.MATERIALIZE_FAILURES_ALLOWED, 1);
    configuration.setString("dstl.dfs.upload.next-attempt-delay", "5 ms");
    JobRun unusedRun = JobRun.start(NAME);
    try (Cluster cluster = cluster()) {
      JobID job = cluster.submit(graph(configuration), SavepointRestoreSettings.none());
      Values healthy = runUntil(cluster, job, now -> now.moved("materialization.completed.count"));
      assertThat(healthy.get("store.failed.count")).isZero();
      FlakyFileSystem.fail(1, 100);
      Values failing =
          runUntil(
              cluster,
              job,
              now ->
                  now.moved(
                      "store.failed.count",
                      "store.retry.count",
                      "materialization.failed.count",
                      "materialization.alarm.count"));
      assertThat(failing.get("materialization.alarm.count")).isEqualTo(1);
      assertThat(failing.get("materialization.failed.count")).isPositive();
      // Two of three failed attempts of a file are followed by another.
      assertThat(failing.get("store.retry.count"))
          .isLessThanOrEqualTo(failing.get("store.failed.count"));
      assertThat(failing.get("store.hedge.count")).isZero();
      long age = failing.get("materialization.age.millis");
      assertThat(age).isBetween(1L, MINUTE_MILLIS);
      FlakyFileSystem.fail(1, 0);
      Values healed = runUntil(cluster, job, now -> now.get("materialization.alarm.count") == 0);
      assertThat(healed.get("materialization.age.millis")).isBetween(0L, MINUTE_MILLIS);
    }
  }

  @Test
  void slowStorage_showsSecondAttemptsAndBackPressure() throws Exception {
    Configuration configuration = configuration();
    configuration.setString("dstl.dfs.upload.timeout", "20 ms");
    configuration.setString("dstl.dfs.upload.max-in-flight", "64 kb");
    configuration.setString("dstl.dfs.preemptive-persist-threshold", "1 kb");
    JobRun unusedRun = JobRun.start(NAME);
    try (Cluster cluster = cluster()) {
      JobID job = cluster.submit(graph(configuration), SavepointRestoreSettings.none());
      Values fast = runUntil(cluster, job, now -> now.moved("store.log.put.count"));
      long waits = fast.count("changelog.backpressure.micros");
      FlakyFileSystem.slow(200);
      AtomicLong mostInFlight = new AtomicLong();
      Values slow =
          runUntil(
              cluster,
              job,
              now ->
                  mostInFlight.accumulateAndGet(now.get("changelog.inflight.bytes"), Math::max) > 0
                      && now.moved("store.hedge.count")
                      && now.count("changelog.backpressure.micros") > waits
                      && now.get("checkpoint.async.micros") >= 200_000);
      assertThat(slow.get("store.hedge.decisive.count"))
          .isBetween(0L, slow.get("store.hedge.count"));
      assertThat(slow.get("changelog.backpressure.micros")).isBetween(1L, MINUTE_MICROS);
      // The bound, and the block with which it was passed.
      assertThat(mostInFlight.get()).isBetween(1L, 1L << 20);
      FlakyFileSystem.slow(0);
    }
  }
}
