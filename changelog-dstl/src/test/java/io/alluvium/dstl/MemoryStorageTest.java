package io.alluvium.dstl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.config.Configuration;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobNames;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Changelog;
import io.alluvium.spi.ChangelogStorage;
import io.alluvium.spi.ChangelogStorageProvider;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Metrics;
import io.alluvium.testkit.blob.BlobOp;
import io.alluvium.testkit.blob.FaultyBlobStore;
import io.alluvium.testkit.blob.MapBlobStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Segments in the memory of the process; and how providers are found. */
final class MemoryStorageTest {

  private final StepExecution execution = new StepExecution();
  private final FaultyBlobStore store = new FaultyBlobStore(new MapBlobStore());
  private final Incarnation incarnation = Incarnation.random(new Random());

  private ChangelogStorage open() {
    return new MemoryStorageProvider()
        .open(
            new ChangelogStorageProvider.Context(
                Configuration.of(Map.of(), DstlOptions.ALL),
                store,
                new Names(),
                execution,
                new Random(1),
                Metrics.NONE));
  }

  private final class Names implements BlobNames {
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

  @Test
  void segments_outliveTheirStorageAndAreFreedByTrimming() {
    ChangelogStorage first = open();
    Changelog changelog = first.open(1, Log.KEY_GROUPS, 0);
    Log.fill(changelog, 10, 40);
    CompletableFuture<List<BlockRef>> persisted = changelog.persist(0);
    execution.runTasks();
    BlockRef block = persisted.join().get(0);

    ChangelogStorage second = open();
    assertThat(execution.await(second.read(block, Log.KEY_GROUPS)).changes(0).next()).isTrue();
    assertThat(second.verify(store, block.blob()).problems()).isEmpty();
    assertThat(store.count(BlobOp.PUT)).isZero();

    changelog.trim(10);
    assertThatThrownBy(() -> execution.await(second.read(block, Log.KEY_GROUPS)))
        .hasMessageContaining("does not survive its process");
    first.close();
    second.close();
  }

  @Test
  void providers_areFoundByName() {
    assertThat(ServiceLoader.load(ChangelogStorageProvider.class))
        .extracting(ChangelogStorageProvider::name)
        .contains("filesystem", "memory");
  }

  @Test
  void options_haveThePublishedNamesAndDefaults() {
    assertThat(new FileSystemStorageProvider().options())
        .extracting(option -> option.key() + "=" + option.defaultText().orElse(""))
        .containsExactlyInAnyOrder(
            "dstl.dfs.compression.enabled=false",
            "dstl.dfs.preemptive-persist-threshold=5 mb",
            "dstl.dfs.batch.persist-delay=10ms",
            "dstl.dfs.batch.persist-size-threshold=10 mb",
            "dstl.dfs.upload.max-in-flight=100 mb",
            "dstl.dfs.upload.timeout=1s",
            "dstl.dfs.upload.max-attempts=3",
            "dstl.dfs.upload.next-attempt-delay=500ms",
            "dstl.dfs.upload.retry-policy=adaptive");
    DstlSettings settings = DstlSettings.of(Configuration.of(Map.of(), DstlOptions.ALL));
    assertThat(settings.codec()).isEqualTo(BlockFormat.Codec.NONE);
    assertThat(settings.preemptiveBytes()).isEqualTo(5L << 20);
    assertThat(settings.maxInFlightBytes()).isEqualTo(100L << 20);
    assertThat(settings.retry().timeout(0, 3 << 20)).hasValue(Duration.ofSeconds(4));
    assertThat(settings.retry().timeout(2, 3 << 20)).hasValue(Duration.ofSeconds(16));
  }
}
