package io.alluvium.flink.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.flink.AlluviumOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Histogram;
import org.apache.flink.metrics.Metric;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.testutils.InMemoryReporter;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What Alluvium measures appears in the metric group of the operator. */
final class MetricsTest {

  private static final String NAME = "metrics";
  private static final List<String> MOVED =
      List.of(
          "checkpoint.sync.micros",
          "checkpoint.durable.micros",
          "checkpoint.tail.bytes",
          "checkpoint.replay.estimate.millis",
          "changelog.upload.segments",
          "changelog.upload.blocks",
          "changelog.upload.bytes",
          "changelog.upload.micros",
          "materialization.completed.count",
          "materialization.stored.bytes",
          "materialization.store.millis");
  private static final List<String> THERE =
      List.of(
          "changelog.upload.failures",
          "changelog.backpressure.micros",
          "materialization.failed.count",
          "materialization.alarm.count",
          "materialization.age.millis");

  @TempDir Path directory;

  @Test
  void job_running_reportsInTheOperatorsGroup() throws Exception {
    Configuration configuration =
        Scenario.configuration(new Random(1), directory.resolve("checkpoints"));
    configuration.set(AlluviumOptions.TABLE, "rocksdb");
    configuration.set(AlluviumOptions.CHANGELOG_ENABLED, true);
    configuration.set(AlluviumOptions.MATERIALIZE_INTERVAL, Duration.ofMillis(50));
    InMemoryReporter reporter = InMemoryReporter.createWithRetainedMetrics();
    JobRun run = JobRun.start(NAME);
    try (Cluster cluster = new Cluster(reporter.addToConfiguration(new Configuration()))) {
      StreamGraph graph = graph(configuration);
      JobID job = cluster.submit(graph, SavepointRestoreSettings.none());
      long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
      while (!unmoved(metrics(reporter, job)).isEmpty() && System.nanoTime() < deadline) {
        run.release(10);
        Thread.sleep(5);
      }
      Map<String, Metric> metrics = metrics(reporter, job);
      assertThat(unmoved(metrics)).as("without a measurement").isEmpty();
      assertThat(metrics).containsKeys(THERE.toArray(new String[0]));
      assertThat(metrics.get("materialization.age.millis"))
          .isInstanceOfSatisfying(
              Gauge.class,
              age -> assertThat((Long) age.getValue()).isBetween(0L, TimeUnit.MINUTES.toMillis(1)));
      cluster.cancel(job);
    } finally {
      JobRun.end(NAME);
    }
  }

  private static StreamGraph graph(Configuration configuration) {
    StreamExecutionEnvironment env =
        StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    env.setParallelism(1);
    Job.TUMBLING
        .build(env, new Traffic(1, 2, 50_000, 20), JobRun.gated(NAME), event -> event)
        .sinkTo(new DiscardingSink<>());
    return env.getStreamGraph();
  }

  /** By their names below Alluvium's group; there is one keyed operator. */
  private static Map<String, Metric> metrics(InMemoryReporter reporter, JobID job) {
    String group = ".alluvium.";
    return reporter.getMetricsByIdentifiers(job).entrySet().stream()
        .filter(entry -> entry.getKey().contains(group))
        .collect(
            Collectors.toMap(
                entry -> entry.getKey().substring(entry.getKey().indexOf(group) + group.length()),
                Map.Entry::getValue,
                (first, second) -> first));
  }

  private static Set<String> unmoved(Map<String, Metric> metrics) {
    return MOVED.stream()
        .filter(name -> !hasMoved(metrics.get(name)))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static boolean hasMoved(@Nullable Metric metric) {
    if (metric instanceof Counter counter) {
      return counter.getCount() > 0;
    }
    return metric instanceof Histogram histogram && histogram.getCount() > 0;
  }
}
