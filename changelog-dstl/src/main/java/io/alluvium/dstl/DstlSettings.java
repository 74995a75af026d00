package io.alluvium.dstl;

import io.alluvium.config.Configuration;
import io.alluvium.spi.RetryPolicy;
import java.time.Duration;

/**
 * The settings of a log. Immutable.
 *
 * @param preemptiveBytes sealed bytes that go out before anybody asks
 * @param persistDelay how long the first who asks waits for the others, at most
 * @param segmentBytes size up to which a segment is filled
 * @param maxInFlightBytes bound of what sealed blocks hold
 */
record DstlSettings(
    BlockFormat.Codec codec,
    long preemptiveBytes,
    Duration persistDelay,
    long segmentBytes,
    long maxInFlightBytes,
    RetryPolicy retry) {

  static DstlSettings of(Configuration configuration) {
    return new DstlSettings(
        configuration.get(DstlOptions.COMPRESSION) ? BlockFormat.Codec.LZ4 : BlockFormat.Codec.NONE,
        configuration.get(DstlOptions.PREEMPTIVE_THRESHOLD),
        configuration.get(DstlOptions.PERSIST_DELAY),
        configuration.get(DstlOptions.PERSIST_SIZE_THRESHOLD),
        configuration.get(DstlOptions.MAX_IN_FLIGHT),
        RetryPolicy.of(configuration));
  }
}
