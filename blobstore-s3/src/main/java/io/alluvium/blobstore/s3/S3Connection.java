package io.alluvium.blobstore.s3;

import io.alluvium.StateBackendException;
import io.alluvium.blobstore.s3.S3Settings.Limits;
import io.alluvium.blobstore.s3.S3Settings.PathStyle;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.api.RetryStrategy;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3AsyncClientBuilder;

/**
 * The SDK's clients over one pool of connections, and waiting for what they do. Thread-safe; owns
 * pool and clients.
 */
final class S3Connection implements AutoCloseable {

  /*
   * Two clients, because the SDK decides on attempts per client: `repeating` for whatever is harmless twice, `once` for
   * a conditional put. Were that attempted again after an answer got lost, the second attempt would meet the blob of the
   * first and report it as somebody else's.
   */

  private final S3Settings settings;
  private final S3Errors errors;
  private final SdkAsyncHttpClient http;
  private final S3AsyncClient repeating;
  private final S3AsyncClient once;
  private volatile boolean closed;

  private S3Connection(
      S3Settings settings, SdkAsyncHttpClient http, S3AsyncClient repeating, S3AsyncClient once) {
    this.settings = settings;
    this.errors = new S3Errors(settings);
    this.http = http;
    this.repeating = repeating;
    this.once = once;
  }

  static S3Connection open(S3Settings settings) {
    Limits limits = settings.limits();
    SdkAsyncHttpClient http =
        NettyNioAsyncHttpClient.builder()
            .maxConcurrency(limits.connections())
            .maxPendingConnectionAcquires(Integer.MAX_VALUE)
            .connectionAcquisitionTimeout(limits.totalTimeout())
            .connectionTimeout(limits.connectTimeout())
            .readTimeout(limits.attemptTimeout())
            .writeTimeout(limits.attemptTimeout())
            .tcpKeepAlive(true)
            .build();
    try {
      RetryStrategy retries =
          AwsRetryStrategy.standardRetryStrategy().toBuilder()
              .maxAttempts(limits.maxAttempts())
              .build();
      S3AsyncClient repeating = client(settings, http, retries);
      return new S3Connection(
          settings, http, repeating, client(settings, http, AwsRetryStrategy.doNotRetry()));
    } catch (RuntimeException e) {
      http.close();
      throw e instanceof SdkClientException ? new S3Errors(settings).of(e, "open") : e;
    }
  }

  private static S3AsyncClient client(
      S3Settings settings, SdkAsyncHttpClient http, RetryStrategy retries) {
    S3AsyncClientBuilder builder =
        S3AsyncClient.builder()
            .httpClient(http)
            .forcePathStyle(settings.service().pathStyle() == PathStyle.PATH)
            .overrideConfiguration(
                override ->
                    override
                        .retryStrategy(retries)
                        .apiCallAttemptTimeout(settings.limits().attemptTimeout())
                        .apiCallTimeout(settings.limits().totalTimeout()));
    settings.service().endpoint().ifPresent(builder::endpointOverride);
    settings
        .service()
        .region()
        .or(() -> settings.service().endpoint().map(endpoint -> "us-east-1"))
        .map(Region::of)
        .ifPresent(builder::region);
    return builder.build();
  }

  S3Settings settings() {
    return settings;
  }

  S3Errors errors() {
    return errors;
  }

  /** For requests that may take effect twice. */
  S3AsyncClient repeating() {
    checkOpen();
    return repeating;
  }

  /** For requests that are attempted once. */
  S3AsyncClient once() {
    checkOpen();
    return once;
  }

  void checkOpen() {
    if (closed) {
      throw StateBackendException.closed(
          "the blob store '" + settings.location().uri() + "' is closed");
    }
  }

  /**
   * Waits for a request.
   *
   * @param doing completes "cannot ...", for example {@code store blob 'x'}
   */
  <T> T await(CompletableFuture<T> request, String doing) {
    try {
      return awaitRaw(request, doing);
    } catch (RequestFailed e) {
      throw failure(e, doing);
    }
  }

  /** As {@link #await}, for whoever wants to look at the failure before it is translated. */
  <T> T awaitRaw(CompletableFuture<T> request, String doing) throws RequestFailed {
    try {
      return request.get();
    } catch (ExecutionException | CancellationException e) {
      throw new RequestFailed(S3Errors.unwrap(e));
    } catch (InterruptedException e) {
      request.cancel(true);
      Thread.currentThread().interrupt();
      throw StateBackendException.unavailable(
          "cannot " + doing + " in '" + settings.location().uri() + "': interrupted", e);
    }
  }

  StateBackendException failure(RequestFailed failed, String doing) {
    if (closed) {
      return StateBackendException.of(
          StateBackendException.Kind.CLOSED,
          "the blob store '" + settings.location().uri() + "' was closed meanwhile",
          failed.failure());
    }
    return errors.of(failed.failure(), doing);
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      try (http;
          repeating;
          once) {
        // Closed in reverse order.
      }
    }
  }
}
