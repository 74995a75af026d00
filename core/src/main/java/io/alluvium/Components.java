package io.alluvium;

import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import java.security.SecureRandom;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * What a backend is made of besides its settings.
 *
 * @param store used instead of the one that {@code state.checkpoints.dir} names; the caller closes
 *     it
 * @param execution time and threads; closed with the backend when Alluvium made it
 * @param random for incarnations, jitter and randomized delays; thread-safe
 * @param metrics where measurements go
 */
public record Components(
    Optional<BlobStore> store,
    Optional<Execution> execution,
    RandomGenerator random,
    Metrics metrics) {

  public static Components defaults() {
    return new Components(Optional.empty(), Optional.empty(), new SecureRandom(), Metrics.NONE);
  }

  public Components withMetrics(Metrics newMetrics) {
    return new Components(store, execution, random, newMetrics);
  }

  public Components withStore(BlobStore newStore) {
    return new Components(Optional.of(newStore), execution, random, metrics);
  }
}
