package io.alluvium.spi;

import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Opens the log under one value of {@code state.backend.changelog.storage}; found through {@link
 * java.util.ServiceLoader}.
 */
public interface ChangelogStorageProvider {

  /** For example {@code filesystem} or {@code memory}. */
  String name();

  /** The options that this provider reads. */
  List<Option<?>> options();

  ChangelogStorage open(Context context);

  /** What a log stands on. */
  record Context(
      Configuration configuration,
      BlobStore store,
      BlobNames names,
      Execution execution,
      RandomGenerator random,
      Metrics metrics) {}
}
