package io.alluvium.config;

import java.time.Duration;
import java.util.List;

/** The options that the core itself reads; providers bring their own. */
public final class CoreOptions {

  private static final Duration YEAR = Duration.ofDays(365);

  public static final Option<String> TABLE =
      Option.text(
          "state.backend.type",
          "rocksdb",
          "Which table answers reads: 'rocksdb', or 'heap' for small state without native code.");

  public static final Option<Boolean> CHANGELOG_ENABLED =
      Option.bool(
          "state.backend.changelog.enabled",
          true,
          "Whether every change is also logged, so that a checkpoint only makes the log's tail durable. When false,"
              + " each checkpoint flushes the table and stores its new files (classic incremental checkpoints). May be"
              + " switched over the same checkpoint directory.");

  public static final Option<String> CHANGELOG_STORAGE =
      Option.text(
          "state.backend.changelog.storage",
          "filesystem",
          "Where the log is kept: 'filesystem' in the blob store, or 'memory' of the process (tests only: nothing"
              + " survives it).");

  public static final Option<Duration> MATERIALIZE_INTERVAL =
      Option.duration(
          "state.backend.changelog.periodic-materialize.interval",
          "10m",
          YEAR.negated(),
          YEAR,
          "Mean time between two background materializations of a backend, jittered by a tenth; the first one comes"
              + " after a random part of it. Zero or negative: never by time.");

  public static final Option<Integer> MATERIALIZE_FAILURES_ALLOWED =
      Option.integer(
          "state.backend.changelog.max-failures-allowed",
          3,
          1,
          Integer.MAX_VALUE,
          "Consecutive failed materializations of a backend before the alarm metric turns on. Never fails the job.");

  public static final Option<Integer> MATERIALIZE_THREADS =
      Option.integer(
          "alluvium.materialize.num-threads",
          1,
          1,
          64,
          "How many backends of a process materialize at the same time.");

  public static final Option<Boolean> MATERIALIZE_SMOOTHING =
      Option.bool(
          "alluvium.materialize.smoothing",
          true,
          "Whether what periodic materializations store is spread over about 80 % of their interval, at one even rate"
              + " for the process, instead of one burst for each. The log and what somebody waits for are never held up.");

  public static final Option<Long> MATERIALIZE_BANDWIDTH =
      Option.size(
          "alluvium.materialize.max-bandwidth",
          "0",
          0L,
          1L << 40,
          "Bytes per second that periodic materializations of a process store at most. Zero: no bound. With less than"
              + " they need, they take longer than their interval and the changelog grows.");

  public static final Option<Duration> RESTORE_TIME_OBJECTIVE =
      Option.duration(
          "alluvium.restore.time-objective",
          "10s",
          Duration.ZERO,
          YEAR,
          "A backend materializes early when replaying its changelog would take longer than this, judged by the speed"
              + " of the last replay. Zero: never for that reason.");

  public static final Option<Integer> RESTORE_THREADS =
      Option.integer(
          "alluvium.restore.num-threads",
          8,
          1,
          256,
          "Threads of a process that fetch files and changelog blocks and replay, at a restore.");

  public static final Option<Boolean> RESTORE_FALLBACK =
      Option.bool(
          "alluvium.restore.fallback",
          false,
          "Whether a restore may fall back to an older retained checkpoint when the newest is damaged. Sinks may have"
              + " committed the skipped one already: exactly-once is then broken for what lies between.");

  public static final Option<Boolean> LOCAL_RECOVERY =
      Option.bool(
          "state.backend.local-recovery",
          false,
          "Whether table files are kept on the local disk across restarts, so that a restore links them instead of"
              + " fetching them.");

  public static final Option<String> LOCAL_DIRECTORIES =
      Option.text(
          "state.backend.rocksdb.localdir",
          "",
          "Local directories for tables, separated by commas; subtasks take turns. Empty: 'alluvium-<user>' below the"
              + " system's temporary directory, which only that user may look into. Put it on a fast local disk.");

  public static final Option<String> CHECKPOINT_DIRECTORY =
      Option.requiredText(
          "state.checkpoints.dir",
          "URI of the blob store that holds a job's checkpoints: 'file:///dir' or 's3://bucket/prefix'; one directory"
              + " belongs to one job.");

  public static final Option<String> CHANGELOG_DIRECTORY =
      Option.text(
          "dstl.dfs.base-path",
          "",
          "URI of the blob store that holds the changelog. Empty: the same as 'state.checkpoints.dir'.");

  public static final Option<Integer> UPLOAD_THREADS =
      Option.integer(
          "dstl.dfs.upload.num-threads",
          5,
          1,
          256,
          "Threads of a process that encode blocks of the changelog and store segments.");

  public static final Option<Integer> RETAINED_CHECKPOINTS =
      Option.integer(
          "state.checkpoints.num-retained",
          1,
          1,
          10_000,
          "How many confirmed checkpoints are kept; older ones are retired and their blobs deleted.");

  public static final Option<Duration> COMMIT_TIMEOUT =
      Option.duration(
          "alluvium.checkpoint.commit-timeout",
          "1m",
          Duration.ofMillis(1),
          Duration.ofDays(1),
          "How long a checkpoint's manifest, or a takeover, is tried again while the blob store does not answer. Its"
              + " outcome is unknown until then; afterwards the job must stop and be started again.");

  public static final Option<Integer> HEDGE_PERCENT =
      Option.integer(
          "alluvium.hedge.max-percent",
          3,
          0,
          100,
          "How many second requests may be made beside slow puts to object storage, per hundred. One is made, with the"
              + " same bytes under the same name, when a put takes longer than 98 of the last 100 of its size, and at"
              + " least twice the median; the first to finish wins and the other is cancelled. Segments of the"
              + " changelog and manifests up to 16 MB have them, whatever 'dstl.dfs.upload.retry-policy' says; reads,"
              + " table files and larger puts never. 0: none.");

  public static final Option<String> FENCING =
      Option.choice(
          "alluvium.fencing",
          "put-if-absent",
          List.of("put-if-absent", "none"),
          "How the processes of a job are kept apart. put-if-absent: by slots that the store gives to one writer only;"
              + " every takeover checks that it does. none: for stores that cannot; you see to it that never two"
              + " processes run the same job, or checkpoints are lost.");

  public static final List<Option<?>> ALL =
      List.of(
          TABLE,
          CHANGELOG_ENABLED,
          CHANGELOG_STORAGE,
          MATERIALIZE_INTERVAL,
          MATERIALIZE_FAILURES_ALLOWED,
          MATERIALIZE_THREADS,
          MATERIALIZE_SMOOTHING,
          MATERIALIZE_BANDWIDTH,
          RESTORE_TIME_OBJECTIVE,
          RESTORE_THREADS,
          RESTORE_FALLBACK,
          LOCAL_RECOVERY,
          LOCAL_DIRECTORIES,
          CHECKPOINT_DIRECTORY,
          COMMIT_TIMEOUT,
          FENCING,
          HEDGE_PERCENT,
          CHANGELOG_DIRECTORY,
          UPLOAD_THREADS,
          RETAINED_CHECKPOINTS);

  private CoreOptions() {}
}
