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

/** The server that a benchmark measures on. Immutable; owns a server that it started. */
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
   * Opens what the command line names.
   *
   * @param text {@code docker} for a MinIO that is started, otherwise the URL of a server; its
   *     bucket is that of the system property {@code alluvium.bucket}, or {@code alluvium}, and
   *     credentials come from where the SDK looks for them
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

  /** Settings of a backend whose checkpoints lie in a directory of the bucket. */
  Map<String, String> settings(String directory, URI through) {
    Map<String, String> settings = new HashMap<>();
    settings.put("state.checkpoints.dir", uri(directory));
    settings.put("s3.endpoint", through.toString());
    settings.put("s3.path-style-access", "true");
    return settings;
  }

  /**
   * A blob store.
   *
   * @param more settings, by option key
   */
  BlobStore store(String directory, Map<String, String> more) {
    Map<String, String> settings = new HashMap<>(settings(directory, endpoint));
    settings.putAll(more);
    return BlobStores.open(uri(directory), Configuration.of(settings, StateBackend.options()));
  }

  private String uri(String directory) {
    return "s3://" + bucket + "/" + directory;
  }

  /** The SDK's client as it comes. */
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
