package io.alluvium.spi;

import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import java.net.URI;
import java.util.List;

/** Opens blob stores of one URI scheme; found through {@link java.util.ServiceLoader}. */
public interface BlobStoreProvider {

  /** For example {@code file} or {@code s3}. */
  String scheme();

  /** The options that this provider reads. */
  List<Option<?>> options();

  BlobStore open(URI uri, Configuration configuration);
}
