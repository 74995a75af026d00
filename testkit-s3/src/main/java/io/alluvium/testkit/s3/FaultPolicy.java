package io.alluvium.testkit.s3;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.util.Random;

/** Decides the fault of each request to a {@link FaultProxy}. Thread-safe. */
@FunctionalInterface
public interface FaultPolicy {

  /** No faults. */
  FaultPolicy NONE = request -> FaultDecision.NONE;

  /**
   * A request that the proxy received.
   *
   * @param number counted from 0
   * @param target path and query
   */
  record Request(int number, String method, String target) {}

  FaultDecision decide(Request request);

  /**
   * A fault profile; shares are of all requests, 0 to 1.
   *
   * @param latency median of the added latency, which is log-normal
   * @param spread sigma of the logarithm of the added latency
   * @param late share of requests that are delayed by {@code lateBy}: half of them before the
   *     request is forwarded, half before the answer
   * @param reset share of requests whose connection is reset: half of them before the request is
   *     forwarded, half after
   * @param burst share of requests that start a burst: this request and the following {@code
   *     burstLength - 1} are refused with 503
   */
  record Profile(
      Duration latency,
      double spread,
      double late,
      Duration lateBy,
      double reset,
      double burst,
      int burstLength) {

    /** Only delays: a share of requests is late by {@code by}. */
    public static Profile late(double share, Duration by) {
      return new Profile(Duration.ZERO, 0, share, by, 0, 0, 0);
    }
  }

  /** A policy that depends only on the seed and the order of the requests. */
  static FaultPolicy seeded(long seed, Profile profile) {
    return new FaultPolicy() {
      @GuardedBy("random")
      private final Random random = new Random(seed);

      @GuardedBy("random")
      private int refusals;

      @Override
      public FaultDecision decide(Request request) {
        synchronized (random) {
          double latency =
              profile.latency.toNanos() * Math.exp(profile.spread * random.nextGaussian());
          double event = random.nextDouble();
          boolean before = random.nextBoolean();
          if (event < profile.burst) {
            refusals = profile.burstLength;
          }
          if (refusals > 0) {
            refusals--;
            return new FaultDecision.Refused(503, "SlowDown");
          }
          if (event >= 1 - profile.late) {
            return before
                ? new FaultDecision.Delayed(profile.lateBy)
                : new FaultDecision.AnsweredLate(profile.lateBy);
          }
          if (event >= 1 - profile.late - profile.reset) {
            return before ? new FaultDecision.Lost() : new FaultDecision.AnswerLost();
          }
          return new FaultDecision.Delayed(Duration.ofNanos((long) latency));
        }
      }
    };
  }
}
