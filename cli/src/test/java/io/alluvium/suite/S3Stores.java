package io.alluvium.suite;

import io.alluvium.config.Configuration;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlobStoreProvider;
import io.alluvium.testkit.s3.S3Server;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.ServiceLoader;

/** Blob stores on the S3 server of the tests. Stateless. */
final class S3Stores {

  private S3Stores() {}

  /** An empty store. */
  static BlobStore fresh() {
    return open(S3Server.freshUri(), S3Server.get().endpoint(), Map.of());
  }

  /**
   * Opens a store.
   *
   * @param endpoint of the server, or of a proxy before it
   */
  static BlobStore open(String uri, URI endpoint, Map<String, String> more) {
    BlobStoreProvider provider =
        ServiceLoader.load(BlobStoreProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .filter(each -> each.scheme().equals("s3"))
            .findFirst()
            .orElseThrow();
    Map<String, String> values = new LinkedHashMap<>(S3Server.settings(endpoint));
    values.putAll(more);
    return provider.open(URI.create(uri), Configuration.of(values, provider.options()));
  }
}
