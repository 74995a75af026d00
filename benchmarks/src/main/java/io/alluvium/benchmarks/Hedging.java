package io.alluvium.benchmarks;

import io.alluvium.testkit.s3.FaultPolicy;
import io.alluvium.testkit.s3.FaultProxy;
import java.io.PrintStream;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;

/**
 * Measures the benefit of hedged requests. Two jobs use one server, each through a proxy that
 * delays 1 % of all requests by two seconds, with the same seeded faults. One job hedges its
 * requests. The jobs take checkpoints in turn. Prints the percentiles of both and their numbers of
 * PUTs.
 *
 * <p>Arguments: {@code docker} or the URL of a server, changes between two checkpoints, rounds.
 */
public final class Hedging {

  private static final int WARM_UP = 300;
  private static final String SECOND = "store.hedge.count";
  private static final String DECISIVE = "store.hedge.decisive.count";
  private static final FaultPolicy.Profile PROFILE =
      FaultPolicy.Profile.late(0.01, Duration.ofSeconds(2));

  private Hedging() {}

  public static void main(String[] args) {
    PrintStream out = System.out;
    if (args.length != 3) {
      out.println("usage: Hedging docker|URL CHANGES ROUNDS");
      System.exit(2);
    }
    int changes = Integer.parseInt(args[1]);
    int rounds = Integer.parseInt(args[2]);
    String directory = "hedging-" + System.nanoTime();
    try (S3Target target = S3Target.open(args[0]);
        FaultProxy offProxy = FaultProxy.before(target.endpoint());
        FaultProxy onProxy = FaultProxy.before(target.endpoint());
        S3Job off = job(target, directory + "/off", offProxy, "0", changes);
        S3Job on = job(target, directory + "/on", onProxy, "3", changes)) {
      for (int round = 0; round < WARM_UP; round++) {
        off.checkpoint();
        on.checkpoint();
      }
      off.warm();
      on.warm();
      offProxy.policy(FaultPolicy.seeded(1, PROFILE));
      onProxy.policy(FaultPolicy.seeded(1, PROFILE));
      int offPuts = puts(offProxy);
      int onPuts = puts(onProxy);
      long second = on.count(SECOND);
      long decisive = on.count(DECISIVE);
      for (int round = 0; round < rounds; round++) {
        (round % 2 == 0 ? off : on).checkpoint();
        (round % 2 == 0 ? on : off).checkpoint();
      }
      offPuts = puts(offProxy) - offPuts;
      onPuts = puts(onProxy) - onPuts;
      print(out, "without hedged requests", off.whole, offPuts);
      print(out, "with hedged requests   ", on.whole, onPuts);
      out.printf(
          Locale.ROOT,
          "%.2f %% more PUTs; %d hedged requests, of which %d finished first%n",
          100.0 * (onPuts - offPuts) / offPuts,
          on.count(SECOND) - second,
          on.count(DECISIVE) - decisive);
    }
  }

  private static S3Job job(
      S3Target target, String directory, FaultProxy proxy, String percent, int changes) {
    Map<String, String> settings = target.settings(directory, proxy.endpoint());
    settings.put("alluvium.hedge.max-percent", percent);
    settings.put("state.backend.changelog.periodic-materialize.interval", "0");
    settings.put("alluvium.restore.time-objective", "0");
    settings.put("state.backend.type", "heap");
    if (percent.equals("0")) {
      // Otherwise the retry policy of the log would also repeat requests that take a second.
      settings.put("dstl.dfs.upload.retry-policy", "none");
    }
    return new S3Job(settings, changes);
  }

  private static int puts(FaultProxy proxy) {
    return proxy.requestsByMethod().getOrDefault("PUT", 0);
  }

  private static void print(PrintStream out, String name, Histogram millis, int puts) {
    out.printf(
        Locale.ROOT,
        "%s: %d checkpoints, ms P50 %.1f P99 %.1f P99.9 %.1f max %.1f; %d PUTs%n",
        name,
        millis.getTotalCount(),
        millis.getValueAtPercentile(50) / 1e6,
        millis.getValueAtPercentile(99) / 1e6,
        millis.getValueAtPercentile(99.9) / 1e6,
        millis.getMaxValue() / 1e6,
        puts);
  }
}
