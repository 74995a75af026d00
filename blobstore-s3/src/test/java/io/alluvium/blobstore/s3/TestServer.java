package io.alluvium.blobstore.s3;

import io.alluvium.config.Configuration;
import io.alluvium.spi.BlobStore;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.gaul.s3proxy.S3Proxy;
import org.gaul.s3proxy.auth.AuthenticationType;
import org.gaul.s3proxy.nio2blob.TransientNio2BlobStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;

/**
 * One S3 server for all tests of this process, started with the first of them: an S3Proxy that
 * keeps its objects in memory. Thread-safe.
 */
final class TestServer {

  private static final Logger LOG = LoggerFactory.getLogger(TestServer.class);
  static final String BUCKET = "alluvium";

  private static final AtomicInteger PREFIXES = new AtomicInteger();
  private static final TestServer INSTANCE = new TestServer();

  private final String endpoint;

  private TestServer() {
    setCredentials();
    TransientNio2BlobStore objects = new TransientNio2BlobStore();
    objects.createContainer(BUCKET);
    S3Proxy proxy =
        S3Proxy.builder()
            .blobStore(new WholePuts(objects))
            .endpoint(URI.create("http://127.0.0.1:0"))
            .awsAuthentication(AuthenticationType.AWS_V2_OR_V4, "test", "test-secret")
            .build();
    try {
      proxy.start();
    } catch (Exception e) {
      throw new IllegalStateException("the S3 server did not start", e);
    }
    endpoint = "http://127.0.0.1:" + proxy.getPort();
    LOG.warn("S3 tests are served by S3Proxy in this process, at {}", endpoint);
  }

  /** Where the SDK's provider chain looks first. */
  static void setCredentials() {
    System.setProperty("aws.accessKeyId", "test");
    System.setProperty("aws.secretAccessKey", "test-secret");
  }

  /** Starts the server if need be. */
  static String endpoint() {
    return INSTANCE.endpoint;
  }

  /** The configuration of a store on this server. */
  static Configuration configuration(Map<String, String> more) {
    Map<String, String> values = new LinkedHashMap<>();
    values.put("s3.endpoint", endpoint());
    values.put("s3.path-style-access", "true");
    values.putAll(more);
    return Configuration.of(values, S3Options.ALL);
  }

  /** An empty store, under a prefix of its own. */
  static BlobStore open(Map<String, String> more) {
    return open(freshUri(), more);
  }

  static BlobStore open(String uri, Map<String, String> more) {
    return new S3BlobStoreProvider().open(URI.create(uri), configuration(more));
  }

  /** A plain client, for looking at the server behind a store's back. */
  static S3AsyncClient client() {
    return S3AsyncClient.builder()
        .endpointOverride(URI.create(endpoint()))
        .region(Region.US_EAST_1)
        .forcePathStyle(true)
        .build();
  }

  static String freshUri() {
    return "s3://" + BUCKET + "/test/" + PREFIXES.incrementAndGet();
  }
}
