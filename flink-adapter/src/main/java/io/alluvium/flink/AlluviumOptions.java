package io.alluvium.flink;

import java.time.Duration;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;

/**
 * The options that only Alluvium reads from Flink's configuration. Those of the changelog have the
 * prefix {@code alluvium.changelog}, because {@code state.backend.changelog.*} are old names of
 * Flink's own changelog. {@code state.backend.rocksdb.*} and {@code dstl.*} mean what they mean
 * elsewhere in Alluvium. Immutable.
 */
public final class AlluviumOptions {

  /** Which table answers reads. */
  public static final ConfigOption<String> TABLE =
      ConfigOptions.key("alluvium.table")
          .stringType()
          .defaultValue("rocksdb")
          .withDescription(
              "Which table answers reads: 'rocksdb', or 'heap' for small state in the JVM's heap.");

  /** Whether every change is logged. */
  public static final ConfigOption<Boolean> CHANGELOG_ENABLED =
      ConfigOptions.key("alluvium.changelog.enabled")
          .booleanType()
          .defaultValue(true)
          .withDescription(
              "Whether every change is also logged, so that a checkpoint only makes the log's tail"
                  + " durable. When false, each checkpoint flushes the table and stores its new"
                  + " files (incremental checkpoints).");

  /** Distance of two materializations. */
  public static final ConfigOption<Duration> MATERIALIZE_INTERVAL =
      ConfigOptions.key("alluvium.changelog.periodic-materialize.interval")
          .durationType()
          .defaultValue(Duration.ofMinutes(10))
          .withDescription(
              "Mean time between two background materializations of a keyed backend, jittered by a"
                  + " tenth. Zero or negative: never by time.");

  /** How many pieces of the log checkpoints may name. */
  public static final ConfigOption<Integer> MAX_PIECES =
      ConfigOptions.key("alluvium.changelog.max-pieces")
          .intType()
          .defaultValue(100_000)
          .withDescription(
              "Pieces of the log that one checkpoint of an operator may name, in all its subtasks"
                  + " together: each stands in the metadata that the JobManager keeps. A"
                  + " materialization interval with which there would be more is shortened. Zero:"
                  + " no such bound.");

  /** Failed materializations before the alarm. */
  public static final ConfigOption<Integer> MATERIALIZE_FAILURES_ALLOWED =
      ConfigOptions.key("alluvium.changelog.max-failures-allowed")
          .intType()
          .defaultValue(3)
          .withDescription(
              "Consecutive failed materializations of a keyed backend before the alarm metric turns"
                  + " on. Never fails the job.");

  private AlluviumOptions() {}
}
