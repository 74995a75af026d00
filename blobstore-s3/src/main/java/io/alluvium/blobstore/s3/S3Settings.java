package io.alluvium.blobstore.s3;

import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.Optional;

/** What the user configured, checked. Immutable. */
record S3Settings(
    S3Location location,
    Service service,
    Encryption encryption,
    Multipart multipart,
    Limits limits) {

  /**
   * Where requests go.
   *
   * @param endpoint empty: AWS
   * @param region empty: what the SDK finds
   */
  record Service(Optional<URI> endpoint, Optional<String> region, PathStyle pathStyle) {}

  /** Where the bucket stands in a request. */
  enum PathStyle {
    PATH,
    HOST
  }

  /** Who encrypts. */
  enum EncryptionKind {
    NONE,
    S3,
    KMS
  }

  record Encryption(EncryptionKind kind, Optional<String> kmsKeyId) {}

  record Multipart(long thresholdBytes, long partBytes, int parallelism) {}

  record Limits(
      int connections,
      Duration connectTimeout,
      Duration attemptTimeout,
      Duration totalTimeout,
      int maxAttempts) {}

  static S3Settings of(S3Location location, Configuration configuration) {
    return new S3Settings(
        location,
        new Service(
            endpoint(configuration.get(S3Options.ENDPOINT).trim()),
            notEmpty(configuration.get(S3Options.REGION)),
            configuration.get(S3Options.PATH_STYLE) ? PathStyle.PATH : PathStyle.HOST),
        encryption(configuration),
        new Multipart(
            configuration.get(S3Options.MULTIPART_THRESHOLD),
            configuration.get(S3Options.PART_SIZE),
            configuration.get(S3Options.PARALLELISM)),
        new Limits(
            configuration.get(S3Options.CONNECTIONS),
            configuration.get(S3Options.CONNECT_TIMEOUT),
            configuration.get(S3Options.ATTEMPT_TIMEOUT),
            configuration.get(S3Options.TOTAL_TIMEOUT),
            configuration.get(S3Options.MAX_ATTEMPTS)));
  }

  private static Optional<URI> endpoint(String text) {
    if (text.isEmpty()) {
      return Optional.empty();
    }
    StateBackendException invalid =
        StateBackendException.invalid(
            "the value '"
                + text
                + "' of 's3.endpoint' must be a URL such as http://localhost:9000 or"
                + " https://s3.example.com");
    try {
      URI uri = new URI(text);
      boolean http = "http".equalsIgnoreCase(uri.getScheme());
      if (uri.getHost() == null || !(http || "https".equalsIgnoreCase(uri.getScheme()))) {
        throw invalid;
      }
      return Optional.of(uri);
    } catch (URISyntaxException e) {
      invalid.initCause(e);
      throw invalid;
    }
  }

  private static Encryption encryption(Configuration configuration) {
    EncryptionKind kind =
        switch (configuration.get(S3Options.ENCRYPTION)) {
          case "s3" -> EncryptionKind.S3;
          case "kms" -> EncryptionKind.KMS;
          default -> EncryptionKind.NONE;
        };
    Optional<String> key = notEmpty(configuration.get(S3Options.KMS_KEY));
    if (key.isPresent() && kind != EncryptionKind.KMS) {
      throw StateBackendException.invalid(
          "'s3.sse.kms-key-id' is set, but 's3.sse' is '"
              + configuration.get(S3Options.ENCRYPTION)
              + "': set 's3.sse' to 'kms', or leave the key out");
    }
    return new Encryption(kind, key);
  }

  private static Optional<String> notEmpty(String text) {
    return Optional.of(text.trim()).filter(trimmed -> !trimmed.isEmpty());
  }

  /** The endpoint for messages. */
  String endpointText() {
    return service.endpoint().map(URI::toString).orElse("AWS S3");
  }
}
