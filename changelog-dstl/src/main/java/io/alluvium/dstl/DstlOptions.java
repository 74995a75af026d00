package io.alluvium.dstl;

import io.alluvium.config.Option;
import java.time.Duration;
import java.util.List;

/**
 * The options of the durable short-term log, with their published names and defaults. Where it
 * stands and how many threads upload ({@code dstl.dfs.base-path}, {@code
 * dstl.dfs.upload.num-threads}) are core's, which opens the store and owns the threads.
 */
final class DstlOptions {

  private static final Duration MILLISECOND = Duration.ofMillis(1);
  private static final Duration HOUR = Duration.ofHours(1);
  private static final long KB = 1L << 10;
  private static final long GB = 1L << 30;

  static final Option<Boolean> COMPRESSION =
      Option.bool(
          "dstl.dfs.compression.enabled",
          false,
          "Whether changes are compressed with LZ4 before they are stored. Blocks of both kinds"
              + " can always be read.");

  static final Option<Long> PREEMPTIVE_THRESHOLD =
      Option.size(
          "dstl.dfs.preemptive-persist-threshold",
          "5 mb",
          KB,
          GB,
          "When this many bytes of sealed changes of the process wait, they are stored without"
              + " waiting for a checkpoint.");

  static final Option<Duration> PERSIST_DELAY =
      Option.duration(
          "dstl.dfs.batch.persist-delay",
          "10ms",
          Duration.ZERO,
          HOUR,
          "How long, at most, the first subtask that asks waits for the others of the process, so"
              + " that their changes are stored together. Nobody waits once all have asked.");

  static final Option<Long> PERSIST_SIZE_THRESHOLD =
      Option.size(
          "dstl.dfs.batch.persist-size-threshold",
          "10 mb",
          KB,
          GB,
          "When this many bytes wait and a subtask has asked, they are stored at once. Also the"
              + " size up to which one segment is filled; more becomes several segments.");

  static final Option<Long> MAX_IN_FLIGHT =
      Option.size(
          "dstl.dfs.upload.max-in-flight",
          "100 mb",
          64 * KB,
          64 * GB,
          "Bound of the memory that sealed changes of the process hold until they are stored. At"
              + " the bound the subtasks wait, which the metric changelog.backpressure.micros shows."
              + " The block that each subtask is filling (256 kb) comes on top.");

  static final Option<Duration> TIMEOUT =
      Option.duration(
          "dstl.dfs.upload.timeout",
          "1s",
          MILLISECOND,
          HOUR,
          "After this time, plus one second for every MB, an attempt to store a segment counts as"
              + " failed, and the same bytes are stored again under the same name. With the"
              + " adaptive retry policy it doubles with each attempt; the policy none has none.");

  static final Option<Integer> MAX_ATTEMPTS =
      Option.integer(
          "dstl.dfs.upload.max-attempts",
          3,
          1,
          1000,
          "After this many failed attempts the checkpoints that wait for a segment fail. The"
              + " changes are kept and the attempts go on, so that a later checkpoint can succeed.");

  static final Option<Duration> NEXT_ATTEMPT_DELAY =
      Option.duration(
          "dstl.dfs.upload.next-attempt-delay",
          "500ms",
          MILLISECOND,
          HOUR,
          "Pause before a segment is attempted again. With the policies adaptive and none it is any"
              + " part of this, at random, which doubles with each failure up to 10 s (or this"
              + " value, when it is greater).");

  static final Option<String> RETRY_POLICY =
      Option.choice(
          "dstl.dfs.upload.retry-policy",
          "adaptive",
          List.of("none", "fixed", "adaptive"),
          "fixed: the same pause and timeout for each attempt. adaptive: both double. none: waiting"
              + " checkpoints fail with the first failed attempt. Whatever the policy, changes that"
              + " could not be stored are kept and attempted again. Second requests beside slow ones"
              + " are not its business but that of 'alluvium.hedge.max-percent'.");

  static final List<Option<?>> ALL =
      List.of(
          COMPRESSION,
          PREEMPTIVE_THRESHOLD,
          PERSIST_DELAY,
          PERSIST_SIZE_THRESHOLD,
          MAX_IN_FLIGHT,
          TIMEOUT,
          MAX_ATTEMPTS,
          NEXT_ATTEMPT_DELAY,
          RETRY_POLICY);

  private DstlOptions() {}
}
