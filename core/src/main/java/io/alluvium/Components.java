package io.alluvium;

import io.alluvium.internal.arguments.Arguments;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Execution;
import io.alluvium.spi.LocalTableFiles;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.TableProvider.Tables;
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
 * @param host given when somebody else keeps the checkpoints; there is no {@link CheckpointCatalog}
 *     then, and Alluvium never deletes anything from the store
 */
public record Components(
    Optional<BlobStore> store,
    Optional<Execution> execution,
    RandomGenerator random,
    Metrics metrics,
    Optional<Host> host) {

  /**
   * Who keeps the checkpoints in the catalog's place, and what backends share beyond one process
   * backend.
   *
   * @param names of blobs, under an incarnation of the host's
   * @param tables used for tables of the configured type; the host closes them
   * @param whenMaterialized told after each materialization, on its thread: blobs that it stands
   *     for may be garbage now, however long the next checkpoint takes
   * @param localFiles used for local recovery in the place of {@code state.backend.local-recovery}
   */
  public record Host(
      BlobNames names,
      Tables tables,
      Runnable whenMaterialized,
      Optional<LocalTableFiles> localFiles) {
    public Host {
      Arguments.check(names, "names");
      Arguments.check(tables, "tables");
      Arguments.check(whenMaterialized, "whenMaterialized");
      Arguments.check(localFiles, "localFiles");
    }
  }

  public Components {
    Arguments.check(store, "store");
    Arguments.check(execution, "execution");
    Arguments.check(random, "random");
    Arguments.check(metrics, "metrics");
    Arguments.check(host, "host");
  }

  public Components(
      Optional<BlobStore> store,
      Optional<Execution> execution,
      RandomGenerator random,
      Metrics metrics) {
    this(store, execution, random, metrics, Optional.empty());
  }

  public static Components defaults() {
    return new Components(Optional.empty(), Optional.empty(), new SecureRandom(), Metrics.NONE);
  }

  public Components withMetrics(Metrics newMetrics) {
    return new Components(
        store, execution, random, Arguments.notNull(newMetrics, "newMetrics"), host);
  }

  public Components withStore(BlobStore newStore) {
    return new Components(
        Optional.of(Arguments.notNull(newStore, "newStore")), execution, random, metrics, host);
  }
}
