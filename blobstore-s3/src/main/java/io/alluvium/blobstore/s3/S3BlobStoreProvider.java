package io.alluvium.blobstore.s3;

import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlobStoreProvider;
import java.net.URI;
import java.util.List;

/**
 * Opens {@code s3://bucket/prefix}. Listing its options loads no class of the SDK, so that a
 * process without S3 does not pay for it. Thread-safe.
 */
public final class S3BlobStoreProvider implements BlobStoreProvider {

  @Override
  public String scheme() {
    return "s3";
  }

  @Override
  public List<Option<?>> options() {
    return S3Options.ALL;
  }

  @Override
  public BlobStore open(URI uri, Configuration configuration) {
    return S3BlobStore.open(S3Settings.of(S3Location.parse(uri), configuration));
  }
}
