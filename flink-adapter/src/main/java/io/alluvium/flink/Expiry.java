package io.alluvium.flink;

import io.alluvium.spi.ListOperands;
import java.time.Duration;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.StateTtlConfig.CleanupStrategies;
import org.apache.flink.api.common.state.StateTtlConfig.RocksdbCompactFilterCleanupStrategy;
import org.apache.flink.runtime.state.ttl.TtlUtils;
import org.jspecify.annotations.Nullable;

/**
 * When values of a state expire, as their bytes tell, and how often they are looked at. Immutable.
 *
 * @param ttlMillis how long a value lives after its timestamp
 * @param interval within which all entries are looked at once
 */
record Expiry(StateDescriptor.Type kind, long ttlMillis, Duration interval) {

  /** An entry is looked at so many times while it lives, if the user says nothing else. */
  private static final int LOOKS_IN_A_LIFE = 4;

  private static final Duration SHORTEST_INTERVAL = Duration.ofMinutes(1);
  private static final Duration LONGEST_INTERVAL = Duration.ofDays(1);

  /** The strategies of a configuration that asks for none: Flink's defaults. */
  private static final CleanupStrategies DEFAULTS =
      StateTtlConfig.newBuilder(Duration.ofMillis(1)).build().getCleanupStrategies();

  /** The interval of a compaction filter that was asked for without one. */
  private static final Duration NO_INTERVAL =
      interval(
          StateTtlConfig.newBuilder(Duration.ofMillis(1))
              .cleanupInRocksdbCompactFilter(1)
              .build()
              .getCleanupStrategies()
              .getRocksdbCompactFilterCleanupStrategy());

  /**
   * Whether Flink may look at some entries of the state whenever it is accessed.
   *
   * <p>Flink does so for every state whose time to live has the default strategies, unless its
   * backend refuses, as Flink's own for RocksDB does. Each access would then cost several more.
   * Here it is done only where the user asked for it.
   */
  static boolean isVisited(StateTtlConfig ttl) {
    // What the user asked for is an object of its own, whatever its numbers are.
    return !ttl.isEnabled()
        || ttl.getCleanupStrategies().getIncrementalCleanupStrategy()
            != DEFAULTS.getIncrementalCleanupStrategy();
  }

  /** Null for a state that is not cleaned up beside the task. */
  static @Nullable Expiry of(StateDescriptor<?, ?> descriptor) {
    StateTtlConfig ttl = descriptor.getTtlConfig();
    CleanupStrategies strategies = ttl.getCleanupStrategies();
    if (!ttl.isEnabled() || !strategies.inRocksdbCompactFilter()) {
      return null;
    }
    Duration asked = interval(strategies.getRocksdbCompactFilterCleanupStrategy());
    long millis = ttl.getTimeToLive().toMillis();
    boolean ownInterval = !asked.equals(NO_INTERVAL) && asked.toMillis() > 0;
    return new Expiry(descriptor.getType(), millis, ownInterval ? asked : defaultInterval(millis));
  }

  private static Duration interval(@Nullable RocksdbCompactFilterCleanupStrategy strategy) {
    return strategy == null ? NO_INTERVAL : strategy.getPeriodicCompactionTime();
  }

  private static Duration defaultInterval(long ttlMillis) {
    return Duration.ofMillis(
        Math.min(
            LONGEST_INTERVAL.toMillis(),
            Math.max(SHORTEST_INTERVAL.toMillis(), ttlMillis / LOOKS_IN_A_LIFE)));
  }

  boolean isExpired(long timestamp, long now) {
    return TtlUtils.expired(timestamp, ttlMillis, now);
  }

  /**
   * Whether a stored value is expired, which is not a list. It starts with its timestamp; that of a
   * map entry has its flag for null before it, and no timestamp when it is null.
   */
  boolean isExpired(byte[] value, int length, long now) {
    int offset = kind == StateDescriptor.Type.MAP ? 1 : 0;
    return length >= offset + Long.BYTES
        && (offset == 0 || value[0] == 0)
        && isExpired(longAt(value, offset), now);
  }

  /**
   * Whether a stored value is expired or is a list with expired elements. Of a list the first
   * element of each operand is looked at: the elements of one append have one timestamp, and a list
   * that is rewritten keeps its order.
   */
  boolean isExpiredIn(byte[] value, int length, long now, ListOperands operands) {
    if (kind != StateDescriptor.Type.LIST) {
      return isExpired(value, length, now);
    }
    operands.reset(value, 0, length);
    while (operands.next()) {
      if (operands.payloadLength() >= Long.BYTES
          && isExpired(longAt(value, operands.reader().position()), now)) {
        return true;
      }
    }
    return false;
  }

  private static long longAt(byte[] bytes, int offset) {
    long value = 0;
    for (int i = offset; i < offset + Long.BYTES; i++) {
      value = (value << Byte.SIZE) | (bytes[i] & 0xff);
    }
    return value;
  }
}
