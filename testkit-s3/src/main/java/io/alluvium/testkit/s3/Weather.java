package io.alluvium.testkit.s3;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.util.Random;

/** Decides what becomes of each request that reaches a {@link FaultProxy}. Thread-safe. */
@FunctionalInterface
public interface Weather {

  /** Nothing happens to any request. */
  Weather CLEAR = request -> Fate.NONE;

  /**
   * A request as it reached the proxy.
   *
   * @param number counted from 0
   * @param target path and query
   */
  record Request(int number, String method, String target) {}

  Fate fateOf(Request request);

  /**
   * How rough it is; shares are of all requests, 0 to 1.
   *
   * @param latency median of what each request takes longer; log-normal
   * @param spread of the latency: sigma of its logarithm
   * @param late share of requests that are held for {@code lateBy}, half of them on the way, half
   *     on the way back
   * @param reset share of connections reset, half of them before the request arrives, half after
   * @param burst share of requests with which a burst begins: that one and the following {@code
   *     burstLength - 1} are refused with 503
   */
  record Climate(
      Duration latency,
      double spread,
      double late,
      Duration lateBy,
      double reset,
      double burst,
      int burstLength) {

    /** Nothing but that share of requests late by that time. */
    public static Climate late(double share, Duration by) {
      return new Climate(Duration.ZERO, 0, share, by, 0, 0, 0);
    }
  }

  /** Weather that depends on the seed and on the order of requests, on nothing else. */
  static Weather seeded(long seed, Climate climate) {
    return new Weather() {
      @GuardedBy("random")
      private final Random random = new Random(seed);

      @GuardedBy("random")
      private int refusals;

      @Override
      public Fate fateOf(Request request) {
        synchronized (random) {
          double latency =
              climate.latency.toNanos() * Math.exp(climate.spread * random.nextGaussian());
          double event = random.nextDouble();
          boolean before = random.nextBoolean();
          if (event < climate.burst) {
            refusals = climate.burstLength;
          }
          if (refusals > 0) {
            refusals--;
            return new Fate.Refused(503, "SlowDown");
          }
          if (event >= 1 - climate.late) {
            return before
                ? new Fate.Delayed(climate.lateBy)
                : new Fate.AnsweredLate(climate.lateBy);
          }
          if (event >= 1 - climate.late - climate.reset) {
            return before ? new Fate.Lost() : new Fate.AnswerLost();
          }
          return new Fate.Delayed(Duration.ofNanos((long) latency));
        }
      }
    };
  }
}
