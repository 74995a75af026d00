package io.alluvium.benchmarks;

import java.io.PrintStream;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.services.s3.S3AsyncClient;

/**
 * Compares a checkpoint with the store itself. Each round has two parts, in changing order: a
 * checkpoint, and two sequential PUTs of the SDK with the sizes of the log and of the manifest.
 * Prints the time until the changelog suffix is durable relative to the first PUT, and the time of
 * the whole checkpoint relative to both PUTs. In every second round the second PUT is conditional
 * on an absent key, like that of a manifest, which costs the server more.
 *
 * <p>Arguments: {@code docker} or the URL of a server, changes between two checkpoints, rounds.
 */
public final class S3Checkpoints {

  private static final int WARM_UP = 200;
  private static final long PAUSE_MILLIS = 5;

  private S3Checkpoints() {}

  public static void main(String[] args) throws InterruptedException {
    PrintStream out = System.out;
    if (args.length != 3) {
      out.println("usage: S3Checkpoints docker|URL CHANGES ROUNDS");
      System.exit(2);
    }
    int changes = Integer.parseInt(args[1]);
    int rounds = Integer.parseInt(args[2]);
    String directory = "checkpoints-" + System.nanoTime();
    Histogram one = new Histogram(3);
    Histogram two = new Histogram(3);
    Histogram twoIfAbsent = new Histogram(3);
    try (S3Target target = S3Target.open(args[0]);
        S3AsyncClient client = target.client().build();
        S3Job job = new S3Job(settings(target, directory), changes)) {
      for (int round = -WARM_UP; round < rounds; round++) {
        if (round == 0) {
          job.warm();
          one.reset();
          two.reset();
          twoIfAbsent.reset();
        }
        // The sizes of the PUTs come from the first checkpoint.
        boolean jobFirst = round % 2 == 0;
        boolean ifAbsent = (round & 2) != 0;
        if (jobFirst) {
          job.checkpoint();
          Thread.sleep(PAUSE_MILLIS);
        }
        long start = System.nanoTime();
        put(target, client, directory + "/plain/log" + round, job.logBytes(), false);
        one.recordValue(System.nanoTime() - start);
        put(target, client, directory + "/plain/manifest" + round, job.manifestBytes(), ifAbsent);
        (ifAbsent ? twoIfAbsent : two).recordValue(System.nanoTime() - start);
        Thread.sleep(PAUSE_MILLIS);
        if (!jobFirst) {
          job.checkpoint();
          Thread.sleep(PAUSE_MILLIS);
        }
      }
      out.printf(
          Locale.ROOT,
          "%d rounds; log %d bytes, manifest %d bytes%n",
          rounds,
          job.logBytes(),
          job.manifestBytes());
      print(out, "suffix durable against one PUT      ", job.tail, one);
      print(out, "whole checkpoint against two PUTs   ", job.whole, two);
      print(out, "the same, the second only if absent ", job.whole, twoIfAbsent);
    }
  }

  private static Map<String, String> settings(S3Target target, String directory) {
    Map<String, String> settings = target.settings(directory + "/job", target.endpoint());
    // Only checkpoints, no materializations.
    settings.put("state.backend.changelog.periodic-materialize.interval", "0");
    settings.put("alluvium.restore.time-objective", "0");
    settings.put("state.backend.type", "heap");
    return settings;
  }

  private static void put(
      S3Target target, S3AsyncClient client, String key, int bytes, boolean ifAbsent) {
    var unused =
        client
            .putObject(
                put -> put.bucket(target.bucket()).key(key).ifNoneMatch(ifAbsent ? "*" : null),
                AsyncRequestBody.fromBytesUnsafe(new byte[bytes]))
            .join();
  }

  private static void print(PrintStream out, String name, Histogram ours, Histogram plain) {
    out.print(name);
    for (double percentile : new double[] {50, 99, 99.9}) {
      double mine = ours.getValueAtPercentile(percentile) / 1e6;
      double theirs = plain.getValueAtPercentile(percentile) / 1e6;
      out.printf(
          Locale.ROOT, " P%s %.1f / %.1f ms = %.2f", percentile, mine, theirs, mine / theirs);
    }
    out.println();
  }
}
