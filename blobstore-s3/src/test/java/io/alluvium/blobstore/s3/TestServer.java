package io.alluvium.blobstore.s3;

import io.alluvium.config.Configuration;
import io.alluvium.spi.BlobStore;
import io.alluvium.testkit.s3.S3Server;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Map;
import software.amazon.awssdk.services.s3.S3AsyncClient;

/** The server of these tests, and stores on it. Stateless. */
final class TestServer {

  static final String BUCKET = S3Server.BUCKET;

  private TestServer() {}

  /** Where the SDK's provider chain looks first. */
  static void setCredentials() {
    S3Server.setCredentials();
  }

  /** Starts the server if need be. */
  static String endpoint() {
    return S3Server.get().endpoint().toString();
  }

  /** The configuration of a store on this server. */
  static Configuration configuration(Map<String, String> more) {
    Map<String, String> values = new LinkedHashMap<>(S3Server.get().settings());
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

  /** A store at an endpoint of a test's own. */
  static BlobStore at(String endpoint, String uri) {
    return new S3BlobStoreProvider()
        .open(
            URI.create(uri),
            Configuration.of(
                Map.of("s3.endpoint", endpoint, "s3.path-style-access", "true"), S3Options.ALL));
  }

  /** A plain client, for looking at the server behind a store's back. */
  static S3AsyncClient client() {
    return S3Server.get().client();
  }

  static String freshUri() {
    return S3Server.freshUri();
  }
}
