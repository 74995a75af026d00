package io.alluvium.internal.remote;

import io.alluvium.spi.BlobName;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.RequestListener;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/**
 * Counts the requests of a process and their bytes by what they are for: {@code
 * store.<purpose>.<verb>.count} and {@code .bytes}. Thread-safe.
 */
public final class RequestMetrics implements RequestListener {

  /** What requests are for. */
  private enum Purpose {
    LOG,
    MATERIALIZATION,
    MANIFEST,
    RESTORE,
    GC
  }

  private record Counters(Metrics.Counter count, Metrics.Counter bytes) {}

  private static final String LOG_SUFFIX = "." + BlobName.Kind.LOG.suffix();

  private final Map<Purpose, Map<Verb, Counters>> counters = new EnumMap<>(Purpose.class);
  private final Metrics.Counter throttled;

  public RequestMetrics(Metrics metrics) {
    for (Purpose purpose : Purpose.values()) {
      Map<Verb, Counters> ofPurpose = new EnumMap<>(Verb.class);
      for (Verb verb : Verb.values()) {
        String name =
            "store."
                + purpose.name().toLowerCase(Locale.ROOT)
                + "."
                + verb.name().toLowerCase(Locale.ROOT);
        ofPurpose.put(
            verb, new Counters(metrics.counter(name + ".count"), metrics.counter(name + ".bytes")));
      }
      counters.put(purpose, ofPurpose);
    }
    throttled = metrics.counter("store.throttled.count");
  }

  @Override
  public void requested(Verb verb, String name, long bytes) {
    Map<Verb, Counters> ofPurpose = counters.get(purpose(verb, name));
    Counters both = ofPurpose == null ? null : ofPurpose.get(verb);
    if (both != null) {
      both.count.add(1);
      both.bytes.add(bytes);
    }
  }

  /** Slots are the manifests' whatever is done to them, except that they are deleted. */
  private static Purpose purpose(Verb verb, String name) {
    boolean data = name.startsWith(BlobName.PREFIX);
    return switch (verb) {
      case DELETE -> Purpose.GC;
      case LIST -> name.startsWith("slots/") ? Purpose.MANIFEST : Purpose.GC;
      case GET -> data ? Purpose.RESTORE : Purpose.MANIFEST;
      case PUT -> {
        if (!data) {
          yield Purpose.MANIFEST;
        }
        yield name.endsWith(LOG_SUFFIX) ? Purpose.LOG : Purpose.MATERIALIZATION;
      }
    };
  }

  @Override
  public void throttled() {
    throttled.add(1);
  }
}
