package io.alluvium.benchmarks;

import io.alluvium.StateBackend;
import io.alluvium.cli.MinioInDocker;
import io.alluvium.config.Configuration;
import io.alluvium.internal.blob.BlobStores;
import io.alluvium.spi.BlobStore;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3AsyncClientBuilder;

/** The server of a benchmark. Immutable; owns a server that it started. */
final class S3Target implements AutoCloseable {

  private final URI endpoint;
  private final String bucket;
  private final Optional<MinioInDocker> started;

  private S3Target(URI endpoint, String bucket, Optional<MinioInDocker> started) {
    this.endpoint = endpoint;
    this.bucket = bucket;
    this.started = started;
  }

  /**
   * Opens the server of the command line.
   *
   * @param text {@code docker} to start a MinIO, otherwise the URL of a server. The system property
   *     {@code alluvium.bucket} names its bucket (default {@code alluvium}); credentials come from
   *     the SDK's provider chain
   */
  static S3Target open(String text) {
    if (!text.equals("docker")) {
      String bucket = System.getProperty("alluvium.bucket", MinioInDocker.BUCKET);
      return new S3Target(URI.create(text), bucket, Optional.empty());
    }
    MinioInDocker minio = MinioInDocker.start();
    System.setProperty("aws.accessKeyId", minio.environment().get("AWS_ACCESS_KEY_ID"));
    System.setProperty("aws.secretAccessKey", minio.environment().get("AWS_SECRET_ACCESS_KEY"));
    return new S3Target(minio.endpoint(), MinioInDocker.BUCKET, Optional.of(minio));
  }

  URI endpoint() {
    return endpoint;
  }

  String bucket() {
    return bucket;
  }

  /** Settings of a backend with its checkpoints in a directory of the bucket. */
  Map<String, String> settings(String directory, URI through) {
    Map<String, String> settings = new HashMap<>();
    settings.put("state.checkpoints.dir", uri(directory));
    settings.put("s3.endpoint", through.toString());
    settings.put("s3.path-style-access", "true");
    return settings;
  }

  /**
   * Opens a blob store.
   *
   * @param more additional settings by option key
   */
  BlobStore store(String directory, Map<String, String> more) {
    Map<String, String> settings = new HashMap<>(settings(directory, endpoint));
    settings.putAll(more);
    return BlobStores.open(uri(directory), Configuration.of(settings, StateBackend.options()));
  }

  private String uri(String directory) {
    return "s3://" + bucket + "/" + directory;
  }

  /** A builder of the SDK's client with default settings. */
  S3AsyncClientBuilder client() {
    return S3AsyncClient.builder()
        .endpointOverride(endpoint)
        .region(Region.US_EAST_1)
        .forcePathStyle(true);
  }

  @Override
  public void close() {
    started.ifPresent(MinioInDocker::close);
  }
}
