package io.alluvium.flink;

import java.io.Serializable;
import java.time.Duration;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.ReadableConfig;

/**
 * How far apart materializations are. Immutable.
 *
 * @param wanted by the user; zero or negative: never by time
 * @param betweenCheckpoints least distance of two checkpoints; zero when it is not known
 * @param maxPieces of the log that a checkpoint names, in all subtasks; zero: any number
 */
record MaterializationInterval(Duration wanted, Duration betweenCheckpoints, int maxPieces)
    implements Serializable {

  /*
   * Each checkpoint since the last materialization is a piece of the log, and a handle of its own in the metadata of every
   * later one. A materialization is stored for up to 0.8 intervals after it was due, and comes a tenth early or late. So a
   * subtask has up to 1.8 intervals of pieces, and a job as many times more as it has subtasks.
   *
   * The interval is shortened rather than a materialization asked for when there are many pieces: all subtasks have as many
   * at the same moment, and would store their tables in one burst.
   */
  private static final double MOST_INTERVALS = 1.8;

  /** A materialization for every checkpoint or two would be no log any more. */
  private static final int LEAST_CHECKPOINTS = 10;

  static MaterializationInterval of(ReadableConfig config) {
    Duration interval =
        config.getOptional(CheckpointingOptions.CHECKPOINTING_INTERVAL).orElse(Duration.ZERO);
    Duration pause = config.get(CheckpointingOptions.MIN_PAUSE_BETWEEN_CHECKPOINTS);
    return new MaterializationInterval(
        config.get(AlluviumOptions.MATERIALIZE_INTERVAL),
        interval.isZero() || interval.compareTo(pause) > 0 ? interval : pause,
        config.get(AlluviumOptions.MAX_PIECES));
  }

  /** For an operator of so many subtasks. */
  Duration of(int subtasks) {
    if (maxPieces <= 0 || betweenCheckpoints.isZero() || wanted.isZero() || wanted.isNegative()) {
      return wanted;
    }
    long checkpoints =
        Math.max(LEAST_CHECKPOINTS, (long) (maxPieces / MOST_INTERVALS / Math.max(1, subtasks)));
    // Not multiplied: a checkpoint interval of years, which means none, would overflow.
    boolean isFewer = wanted.dividedBy(checkpoints).compareTo(betweenCheckpoints) <= 0;
    return isFewer ? wanted : betweenCheckpoints.multipliedBy(checkpoints);
  }
}
