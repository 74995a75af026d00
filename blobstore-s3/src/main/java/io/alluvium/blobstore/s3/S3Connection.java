package io.alluvium.blobstore.s3;

import io.alluvium.StateBackendException;
import io.alluvium.blobstore.s3.S3Settings.PathStyle;
import io.alluvium.spi.RequestListener;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.client.config.SdkAdvancedAsyncClientOption;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
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

  /** Slower networks than this are not used to store state. */
  private static final long BYTES_PER_SECOND = 1L << 20;

  private final S3Settings settings;
  private final S3Errors errors;
  private final S3Transport transport;
  private final S3AsyncClient repeating;
  private final S3AsyncClient once;
  private final S3Listening listening;
  private volatile boolean closed;

  private S3Connection(S3Settings settings, S3Transport transport) {
    this.settings = settings;
    this.errors = new S3Errors(settings);
    this.transport = transport;
    this.listening = new S3Listening(settings.location());
    RetryStrategy retries =
        AwsRetryStrategy.standardRetryStrategy().toBuilder()
            .maxAttempts(settings.limits().maxAttempts())
            .build();
    this.repeating = client(settings, transport, listening, retries);
    this.once = client(settings, transport, listening, AwsRetryStrategy.doNotRetry());
  }

  static S3Connection open(S3Settings settings) {
    S3Transport transport = S3Transport.open(settings.limits());
    try {
      return new S3Connection(settings, transport);
    } catch (RuntimeException e) {
      transport.close();
      throw e instanceof SdkClientException ? new S3Errors(settings).of(e, "store blobs") : e;
    }
  }

  private static S3AsyncClient client(
      S3Settings settings,
      S3Transport transport,
      ExecutionInterceptor listening,
      RetryStrategy retries) {
    S3AsyncClientBuilder builder =
        S3AsyncClient.builder()
            .httpClient(transport.http())
            .forcePathStyle(settings.service().pathStyle() == PathStyle.PATH)
            // What follows an answer is short and never blocks, so that no further thread is
            // needed.
            .asyncConfiguration(
                async ->
                    async.advancedOption(
                        SdkAdvancedAsyncClientOption.FUTURE_COMPLETION_EXECUTOR, Runnable::run))
            .overrideConfiguration(
                override ->
                    override
                        .retryStrategy(retries)
                        .addExecutionInterceptor(listening)
                        .scheduledExecutorService(transport.timer())
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

  /** Tells the listener of every request from now on. */
  void listen(RequestListener listener) {
    listening.tell(listener);
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

  /** How long a request may take that sends so many bytes: a second more for each MB. */
  AwsRequestOverrideConfiguration patience(long bytes) {
    return AwsRequestOverrideConfiguration.builder()
        .apiCallAttemptTimeout(settings.limits().attemptTimeout().plus(transfer(bytes)))
        .apiCallTimeout(settings.limits().totalTimeout().plus(transfer(bytes)))
        .build();
  }

  private static Duration transfer(long bytes) {
    return Duration.ofMillis(bytes * 1000 / BYTES_PER_SECOND);
  }

  /**
   * Ends a request that the SDK has lost, with a {@code TimeoutException}. The SDK's own bounds
   * come first: they alone ended some requests whose connections were refused.
   *
   * @param bytes that it sends
   */
  <T> CompletableFuture<T> bounded(CompletableFuture<T> request, long bytes) {
    long millis = settings.limits().totalTimeout().plus(transfer(bytes)).toMillis();
    return request.orTimeout(2 * millis, TimeUnit.MILLISECONDS);
  }

  /**
   * Waits for a request.
   *
   * @param doing completes "cannot ...", for example {@code store blob 'x'}
   */
  <T> T await(CompletableFuture<T> request, String doing) {
    return await(request, 0, doing);
  }

  /**
   * Waits for a request.
   *
   * @param bytes that it sends
   */
  <T> T await(CompletableFuture<T> request, long bytes, String doing) {
    try {
      return awaitRaw(request, bytes, doing);
    } catch (RequestFailed e) {
      throw failure(e, doing);
    }
  }

  /** As {@link #await}, for whoever wants to look at the failure before it is translated. */
  <T> T awaitRaw(CompletableFuture<T> request, String doing) throws RequestFailed {
    return awaitRaw(request, 0, doing);
  }

  <T> T awaitRaw(CompletableFuture<T> request, long bytes, String doing) throws RequestFailed {
    try {
      return bounded(request, bytes).get();
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
      try (transport;
          repeating;
          once) {
        // Closed in reverse order.
      }
    }
  }
}
