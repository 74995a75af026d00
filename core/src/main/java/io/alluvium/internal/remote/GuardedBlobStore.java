package io.alluvium.internal.remote;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.internal.remote.RequestLimit.Urgency;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.Pace;
import io.alluvium.spi.RemoteBlobStore;
import io.alluvium.spi.RequestListener;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * A store behind a network, with second requests beside slow puts, a limit of requests when the
 * store complains, and each request counted. Thread-safe.
 */
public final class GuardedBlobStore implements BlobStore {

  /*
   * Why a second put of the same name is harmless, also when the one that was given up takes effect later:
   * 1. A data blob has the same bytes in both. If it was deleted meanwhile, it comes back as garbage of its incarnation,
   *    which the next collection that lists everything deletes.
   * 2. A slot is put only if absent: the later one is refused. If the slot was subsumed and deleted meanwhile, it lies
   *    below the greatest, where it means nothing (C3). Refused may also mean that our own other put came first. So that
   *    answer counts only after a look at what is stored.
   */
  private final RemoteBlobStore store;
  private final RequestLimit limit;
  private final Hedging hedging;

  private GuardedBlobStore(RemoteBlobStore store, RequestLimit limit, Hedging hedging) {
    this.store = store;
    this.limit = limit;
    this.hedging = hedging;
  }

  /** What the stores of a process share. Immutable. */
  public record Context(Execution execution, double hedgeShare, Metrics metrics) {}

  /**
   * The stores as the process uses them; one that is not behind a network is only counted. They
   * share one limit, because a store that complains is often the same one under two names.
   *
   * @param requests told of each request
   */
  public static List<BlobStore> over(
      List<BlobStore> stores, Context context, RequestListener requests) {
    RequestLimit limit = new RequestLimit(context.execution());
    context.metrics().gauge("store.limit.requests", () -> (long) limit.current());
    return stores.stream().map(store -> over(store, limit, context, requests)).toList();
  }

  /** As above, for a process with one store. */
  public static BlobStore over(BlobStore store, Context context, RequestListener requests) {
    return over(List.of(store), context, requests).get(0);
  }

  private static BlobStore over(
      BlobStore store, RequestLimit limit, Context context, RequestListener requests) {
    if (!(store instanceof RemoteBlobStore remote)) {
      return new CountedBlobStore(store, requests);
    }
    remote.listen(
        new RequestListener() {
          @Override
          public void requested(Verb verb, String name, long bytes) {
            requests.requested(verb, name, bytes);
          }

          @Override
          public void throttled() {
            limit.throttled();
            requests.throttled();
          }
        });
    return new GuardedBlobStore(
        remote,
        limit,
        new Hedging(context.execution(), limit, context.hedgeShare(), context.metrics()));
  }

  @Override
  public void put(String name, List<ByteBuffer> content) {
    var unused =
        hedging.call(
            Sizes.of(content),
            givenUp ->
                whenAdmitted(
                    givenUp,
                    () -> {
                      store.put(name, content, givenUp);
                      return true;
                    }));
  }

  @Override
  public boolean putIfAbsent(String name, byte[] content) {
    Race.Outcome<Boolean> outcome =
        hedging.call(
            content.length,
            givenUp -> whenAdmitted(givenUp, () -> store.putIfAbsent(name, content, givenUp)));
    if (outcome.value() || outcome.other().orElse(false)) {
      return true;
    }
    return outcome.requests() != Race.Requests.ONE && holds(name, content);
  }

  private <T> T whenAdmitted(CompletableFuture<?> givenUp, Supplier<T> request) {
    return limit.call(
        Urgency.FOREGROUND,
        () -> {
          if (givenUp.isDone()) {
            throw StateBackendException.of(
                Kind.UNAVAILABLE, "the request was given up before it was made");
          }
          return request.get();
        });
  }

  private boolean holds(String name, byte[] content) {
    OptionalLong size = size(name);
    return size.isPresent()
        && size.getAsLong() == content.length
        && Arrays.equals(read(name, 0, content.length), content);
  }

  @Override
  public void putFile(String name, Path file) {
    putFile(name, file, Pace.NONE);
  }

  @Override
  public void putFile(String name, Path file, Pace pace) {
    var unused =
        limit.call(
            Urgency.BACKGROUND,
            () -> {
              store.putFile(
                  name,
                  file,
                  bytes -> {
                    limit.awaitCalm();
                    pace.await(bytes);
                  });
              return true;
            });
  }

  @Override
  public OptionalLong size(String name) {
    return limit.call(Urgency.FOREGROUND, () -> store.size(name));
  }

  @Override
  public InputStream open(String name, long offset, long length) {
    return limit.call(Urgency.FOREGROUND, () -> store.open(name, offset, length));
  }

  @Override
  public List<BlobInfo> list(String prefix) {
    return limit.call(Urgency.FOREGROUND, () -> store.list(prefix));
  }

  @Override
  public void delete(Collection<String> names) {
    var unused =
        limit.call(
            Urgency.BACKGROUND,
            () -> {
              store.delete(names);
              return true;
            });
  }

  @Override
  public void deleteLeftovers(Duration olderThan) {
    var unused =
        limit.call(
            Urgency.BACKGROUND,
            () -> {
              store.deleteLeftovers(olderThan);
              return true;
            });
  }

  @Override
  public String uri() {
    return store.uri();
  }

  @Override
  public void close() {
    store.close();
  }
}
