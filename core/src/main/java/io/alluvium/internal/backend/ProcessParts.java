package io.alluvium.internal.backend;

import io.alluvium.CheckpointHandle;
import io.alluvium.CheckpointInspector;
import io.alluvium.Components;
import io.alluvium.KeyGroupRange;
import io.alluvium.StateBackendException;
import io.alluvium.config.Configuration;
import io.alluvium.config.CoreOptions;
import io.alluvium.internal.blob.BlobStores;
import io.alluvium.internal.blob.SplitBlobStore;
import io.alluvium.internal.catalog.CatalogSettings;
import io.alluvium.internal.catalog.LiveRegistration;
import io.alluvium.internal.catalog.SlotCatalog;
import io.alluvium.internal.catalog.SlotInspector;
import io.alluvium.internal.execution.ThreadedExecution;
import io.alluvium.internal.materialize.UploadPacer;
import io.alluvium.internal.remote.GuardedBlobStore;
import io.alluvium.internal.remote.RequestMetrics;
import io.alluvium.internal.restore.ReplaySpeed;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.ChangelogStorageProvider;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.TableProvider;
import io.alluvium.spi.TableProvider.Tables;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * What the backends of a process share, opened in order and closed in reverse. Thread-safe once
 * open.
 */
final class ProcessParts implements AutoCloseable {

  private final Configuration configuration;
  private final Providers providers;
  private final RandomGenerator random;
  private final Metrics metrics;
  private final Closing.Stack opened = new Closing.Stack();
  private final Map<String, Tables> tablesByFormat = new HashMap<>();
  private final ReplaySpeed replaySpeed = new ReplaySpeed();
  private final ProcessDirectories directories;
  private final BlobStore store;
  private final String checkpointUri;
  private final Execution execution;
  private final UploadPacer pacer;
  private final Optional<SlotCatalog> catalog;
  private final Optional<Components.Host> host;
  private final ChangelogStorage log;

  /** Opens all of it, or nothing. */
  ProcessParts(Configuration configuration, Providers providers, Components components) {
    this.configuration = configuration;
    this.providers = providers;
    this.random = components.random();
    this.metrics = components.metrics();
    this.host = components.host();
    boolean done = false;
    try {
      // A table that is not there is told before anything is opened.
      TableProvider unused = providers.table(configuration);
      directories = new ProcessDirectories(LocalRoot.of(configuration));
      opened.push(directories::close);
      List<BlobStore> stores = components.store().map(List::of).orElseGet(this::openStores);
      checkpointUri = stores.get(0).uri();
      opened.push(this::closeTables);
      // Its threads stop before what they work on is closed.
      execution = components.execution().orElseGet(this::threads);
      store = guarded(stores);
      pacer = UploadPacer.of(execution);
      catalog = host.isPresent() ? Optional.empty() : Optional.of(openCatalog());
      log = openLog();
      opened.push(log::close);
      done = true;
    } finally {
      if (!done) {
        opened.close();
      }
    }
  }

  /** With the changelog off it is only asked for when a checkpoint holds changes. */
  private ChangelogStorage openLog() {
    String problem = providers.problemOfLog(configuration);
    if (!configuration.get(CoreOptions.CHANGELOG_ENABLED) && !problem.isEmpty()) {
      return new AbsentLog(configuration.get(CoreOptions.CHANGELOG_STORAGE).trim(), problem);
    }
    return providers
        .log(configuration)
        .open(
            new ChangelogStorageProvider.Context(
                configuration, store, names(), execution, random, metrics));
  }

  private SlotCatalog openCatalog() {
    SlotCatalog chain =
        new SlotCatalog(
            store,
            execution,
            random,
            metrics,
            CatalogSettings.of(configuration),
            directories::prepare);
    opened.push(chain::close);
    return chain;
  }

  private Execution threads() {
    Execution threads =
        new ThreadedExecution(
            new ThreadedExecution.Sizes(
                configuration.get(CoreOptions.UPLOAD_THREADS),
                configuration.get(CoreOptions.RESTORE_THREADS),
                configuration.get(CoreOptions.MATERIALIZE_THREADS)));
    opened.push(threads::close);
    return threads;
  }

  /** That of the checkpoints, and that of the changelog if it is another one. */
  private List<BlobStore> openStores() {
    String uri = configuration.get(CoreOptions.CHECKPOINT_DIRECTORY);
    String logUri = configuration.get(CoreOptions.CHANGELOG_DIRECTORY).trim();
    List<BlobStore> stores = new ArrayList<>();
    stores.add(openStore(uri));
    if (!logUri.isEmpty() && !logUri.equals(uri)) {
      stores.add(openStore(logUri));
    }
    return stores;
  }

  private BlobStore openStore(String uri) {
    BlobStore opening = BlobStores.open(uri, configuration);
    opened.push(opening::close);
    return opening;
  }

  /** Closing it is left to whoever opened what is below. */
  private BlobStore guarded(List<BlobStore> stores) {
    GuardedBlobStore.Context context =
        new GuardedBlobStore.Context(
            execution, configuration.get(CoreOptions.HEDGE_PERCENT) / 100.0, metrics);
    RequestMetrics requests = new RequestMetrics(metrics);
    List<BlobStore> guarded = GuardedBlobStore.over(stores, context, requests);
    return guarded.size() == 1
        ? guarded.get(0)
        : new SplitBlobStore(guarded.get(1), guarded.get(0));
  }

  /**
   * The tables of a format; opened when they are first asked for, because another format is rare.
   */
  synchronized Tables tablesOfFormat(String format) {
    if (host.isPresent() && format.equals(format())) {
      return host.get().tables();
    }
    return tablesByFormat.computeIfAbsent(
        format, name -> providers.tableOfFormat(name).open(configuration, execution, metrics));
  }

  private synchronized void closeTables() {
    Closing closing = new Closing();
    tablesByFormat.values().forEach(tables -> closing.run(tables::close));
    closing.rethrow();
  }

  /** The format of the tables that this process keeps its state in. */
  String format() {
    return providers.table(configuration).format();
  }

  Execution execution() {
    return execution;
  }

  BlobStore store() {
    return store;
  }

  /** Done after each materialization; a catalog collects garbage after commits instead. */
  Runnable whenMaterialized() {
    return host.map(Components.Host::whenMaterialized).orElse(() -> {});
  }

  /** The part of one more backend in what is uploaded at a pace. */
  UploadPacer.Share uploadShare() {
    // Without a changelog, somebody waits for each upload.
    boolean spread =
        configuration.get(CoreOptions.CHANGELOG_ENABLED)
            && configuration.get(CoreOptions.MATERIALIZE_SMOOTHING);
    Duration interval =
        spread ? configuration.get(CoreOptions.MATERIALIZE_INTERVAL) : Duration.ZERO;
    return pacer.share(
        new UploadPacer.Settings(interval, configuration.get(CoreOptions.MATERIALIZE_BANDWIDTH)));
  }

  /** Who keeps the checkpoints in the catalog's place. */
  Optional<Components.Host> hosted() {
    return host;
  }

  SlotCatalog catalog() {
    return catalog.orElseThrow(
        () ->
            StateBackendException.invalid(
                "this process has no catalog of checkpoints, because its host keeps them"));
  }

  BlobNames names() {
    return host.map(Components.Host::names).orElseGet(() -> catalog().names());
  }

  /** Keeps what is live from being collected; a host asks for it by itself. */
  LiveRegistration registerLive(Supplier<Set<BlobName>> live) {
    return catalog.map(chain -> chain.registerLive(live)).orElse(() -> {});
  }

  /**
   * A backend was made; whoever keeps the checkpoints instead of a catalog knows that by itself.
   */
  void made(KeyGroupRange keyGroups, List<CheckpointHandle> restoreFrom) {
    catalog.ifPresent(chain -> chain.made(keyGroups, restoreFrom));
  }

  /** Whose local copies outlive the process. */
  ProcessDirectories.Chain chain() {
    return chainOf(catalog());
  }

  /** As {@link #chain}; empty when a host keeps the checkpoints, and local recovery with them. */
  Optional<ProcessDirectories.Chain> ownedChain() {
    return catalog.map(this::chainOf);
  }

  private ProcessDirectories.Chain chainOf(SlotCatalog own) {
    return new ProcessDirectories.Chain(own.job(), checkpointUri);
  }

  CheckpointInspector inspector() {
    return new SlotInspector(store, execution, log::verify);
  }

  ChangelogStorage log() {
    return log;
  }

  ProcessDirectories directories() {
    return directories;
  }

  RandomGenerator random() {
    return random;
  }

  Metrics metrics() {
    return metrics;
  }

  ReplaySpeed replaySpeed() {
    return replaySpeed;
  }

  @Override
  public void close() {
    opened.close();
  }
}
