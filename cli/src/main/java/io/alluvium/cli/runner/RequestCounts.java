package io.alluvium.cli.runner;

import java.util.List;

/** Sums up the metrics of the requests to the blob store. Stateless. */
final class RequestCounts {

  private static final List<String> PURPOSES =
      List.of("log", "materialization", "manifest", "restore", "gc");

  private RequestCounts() {}

  static RunSummary.Requests of(MemoryMetrics metrics, long checkpoints) {
    long put = sum(metrics, "put.count");
    long get = sum(metrics, "get.count");
    long list = sum(metrics, "list.count");
    long delete = sum(metrics, "delete.count");
    long ofCheckpoints =
        metrics.count("store.log.put.count") + metrics.count("store.manifest.put.count");
    return new RunSummary.Requests(
        put,
        get,
        list,
        delete,
        sum(metrics, "put.bytes"),
        sum(metrics, "get.bytes"),
        ratio(ofCheckpoints, checkpoints),
        ratio(put + get + list + delete, checkpoints));
  }

  private static long sum(MemoryMetrics metrics, String what) {
    return PURPOSES.stream()
        .mapToLong(purpose -> metrics.count("store." + purpose + "." + what))
        .sum();
  }

  private static double ratio(long requests, long checkpoints) {
    return checkpoints == 0 ? 0 : Math.round(100.0 * requests / checkpoints) / 100.0;
  }
}
