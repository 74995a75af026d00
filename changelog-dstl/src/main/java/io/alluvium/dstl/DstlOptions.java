package io.alluvium.dstl;

import io.alluvium.config.Option;
import io.alluvium.spi.RetryPolicy;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * The options of the durable short-term log, with their published names and defaults. Where it
 * stands and how many threads upload ({@code dstl.dfs.base-path}, {@code
 * dstl.dfs.upload.num-threads}) are core's, which opens the store and owns the threads.
 */
final class DstlOptions {

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

  static final List<Option<?>> ALL =
      Stream.concat(
              Stream.of(
                  COMPRESSION,
                  PREEMPTIVE_THRESHOLD,
                  PERSIST_DELAY,
                  PERSIST_SIZE_THRESHOLD,
                  MAX_IN_FLIGHT),
              RetryPolicy.OPTIONS.stream())
          .toList();

  private DstlOptions() {}
}
