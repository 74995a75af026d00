package io.alluvium.benchmarks;

import io.alluvium.KeyGroupRange;
import io.alluvium.config.Configuration;
import io.alluvium.dstl.FileSystemStorageProvider;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.ChangelogStorageProvider;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Metrics;
import java.util.Map;
import java.util.Random;

/**
 * A changelog whose background work the benchmark runs and whose segments are discarded. Confined
 * to the benchmark's thread.
 */
final class BenchmarkLog {

  static final int KEY_GROUPS = 128;

  final DeferredExecution execution = new DeferredExecution();
  final ChangelogStorage storage;
  final Changelog changelog;

  BenchmarkLog(Map<String, String> settings) {
    FileSystemStorageProvider provider = new FileSystemStorageProvider();
    storage =
        provider.open(
            new ChangelogStorageProvider.Context(
                Configuration.of(settings, provider.options()),
                new DiscardingStore(),
                new Names(),
                execution,
                new Random(1),
                Metrics.NONE));
    changelog = storage.open(1, new KeyGroupRange(0, KEY_GROUPS), 0);
  }

  /** Runs all background work and discards the stored blocks. */
  void drain() {
    execution.runTasks();
    changelog.trim(changelog.durableUpTo());
  }

  /** Generates names by counting. Confined to the benchmark's thread. */
  private static final class Names implements BlobNames {
    private final Incarnation incarnation = new Incarnation(1, 2);
    private long counter;

    @Override
    public BlobName next(BlobName.Kind kind) {
      return new BlobName(incarnation, counter++, kind);
    }

    @Override
    public Incarnation incarnation() {
      return incarnation;
    }
  }
}
