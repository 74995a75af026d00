package io.alluvium.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.CheckpointHandle;
import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.config.Configuration;
import io.alluvium.config.Option;
import io.alluvium.internal.blob.BlobStores;
import io.alluvium.serializer.Serializers;
import io.alluvium.spi.BlobName;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.BlockRef;
import io.alluvium.spi.Execution;
import io.alluvium.spi.Incarnation;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.TableProvider;
import io.alluvium.state.StateDescriptor;
import io.alluvium.state.ValueState;
import java.io.IOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** On the class path of core alone: no log, no RocksDB, no object storage. */
public final class ProvidersTest {

  @Test
  void open_withSeveralMistakes_namesThemAll() {
    Map<String, String> settings =
        Map.of(
            "state.checkpoints.dir", "s3://bucket/job",
            "dstl.dfs.base-path", "gopher:x",
            "state.backend.type", "haep",
            "state.backend.changelog.storage", "filesystem",
            "state.backend.rocksdb.writebuffer.size", "1 mb",
            "s3.endpoint", "http://127.0.0.1:9000",
            "alluvium.fencing", "off",
            "state.checkpoints.num-retaned", "2");
    assertThatThrownBy(() -> StateBackend.open(settings))
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
        .satisfies(
            e ->
                assertThat(String.valueOf(e.getMessage()).lines())
                    .containsExactlyInAnyOrder(
                        "the value 's3://bucket/job' of 'state.checkpoints.dir' has the scheme 's3',"
                            + " which is not on the class path, which offers file, memory; add"
                            + " 'io.alluvium:alluvium-blobstore-s3' to it",
                        "the value 'gopher:x' of 'dstl.dfs.base-path' has the scheme 'gopher', which"
                            + " is unknown; known are file, memory, s3",
                        "the value 'haep' of 'state.backend.type' is unknown; known are heap,"
                            + " rocksdb; did you mean 'heap'?",
                        "the value 'filesystem' of 'state.backend.changelog.storage' is not on the"
                            + " class path, which offers none; add"
                            + " 'io.alluvium:alluvium-changelog-dstl' to it",
                        "unknown option 'state.backend.rocksdb.writebuffer.size'; 'rocksdb' reads it"
                            + " and is not on the class path; add"
                            + " 'io.alluvium:alluvium-rocksdb-materializer' to it",
                        "unknown option 's3.endpoint'; 's3' reads it and is not on the class path;"
                            + " add 'io.alluvium:alluvium-blobstore-s3' to it",
                        "the value 'off' of 'alluvium.fencing' must be one of put-if-absent, none",
                        "unknown option 'state.checkpoints.num-retaned'; did you mean"
                            + " 'state.checkpoints.num-retained'?"));
  }

  @Test
  void open_withTheChangelogOff_needsNoLog() {
    Map<String, String> settings =
        Map.of(
            "state.checkpoints.dir", "memory:",
            "state.backend.type", "heap",
            "state.backend.changelog.enabled", "false");
    try (StateBackend backend = StateBackend.open(settings)) {
      assertThat(backend.catalog().takeOver("job")).isEmpty();
      KeyedBackend<Long> keyed = backend.keyed(Serializers.int64(), 8, new KeyGroupRange(0, 8));
      ValueState<Long> value = keyed.state(StateDescriptor.value("v", Serializers.int64()));
      keyed.setCurrentKey(1L);
      value.update(2L);
      CheckpointHandle handle = keyed.checkpoint(1).join();
      assertThat(backend.catalog().commit(1, List.of(handle), new byte[0]).written()).isTrue();
    }
    assertThatThrownBy(
            () ->
                StateBackend.open(
                    Map.of("state.checkpoints.dir", "memory:", "state.backend.type", "heap")))
        .hasMessageContainingAll(
            "'filesystem' of 'state.backend.changelog.storage'",
            "io.alluvium:alluvium-changelog-dstl");
  }

  @Test
  void checkpointWithChanges_withoutALog_namesTheArtifact() {
    Map<String, String> settings =
        Map.of(
            "state.checkpoints.dir", "memory:",
            "state.backend.type", "heap",
            "state.backend.changelog.enabled", "false");
    Providers providers = Providers.find();
    Configuration configuration = providers.configure(settings);
    BlobStore store = BlobStores.open("memory:", configuration);
    AbsentLog log = new AbsentLog("filesystem", providers.problemOfLog(configuration));
    BlobName segment = new BlobName(Incarnation.random(new Random(1)), 7, BlobName.Kind.LOG);
    assertThatThrownBy(() -> log.verify(store, segment))
        .hasMessageContainingAll(
            segment.toString(), "changelog on", "io.alluvium:alluvium-changelog-dstl");
    assertThat(log.read(new BlockRef(segment, 0, 1, 0, 1), new KeyGroupRange(0, 8)))
        .isCompletedExceptionally();
  }

  @Test
  void open_aProvidersLibraryIsMissing_isOnlyToldToWhoAsksForIt() {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(new WithoutRocksDbJni(before));
    try {
      Map<String, String> settings = new HashMap<>();
      settings.put("state.checkpoints.dir", "memory:");
      settings.put("state.backend.changelog.enabled", "false");
      assertThatThrownBy(() -> StateBackend.open(settings))
          .as("the default table")
          .hasMessageContainingAll("org/rocksdb/InfoLogLevel", "org.rocksdb:rocksdbjni");
      settings.put("state.backend.type", "rocksdb");
      assertThatThrownBy(() -> StateBackend.open(settings))
          .isInstanceOf(StateBackendException.class)
          .hasMessageContainingAll("org/rocksdb/InfoLogLevel", "org.rocksdb:rocksdbjni");
      settings.put("state.backend.type", "heap");
      StateBackend.open(settings).close();
      settings.put("state.backend.rocksdb.writebuffer.size", "1 mb");
      assertThatThrownBy(() -> StateBackend.open(settings))
          .hasMessageContainingAll("writebuffer.size'; 'rocksdb' reads it", "rocksdbjni");
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  /** Knows a table whose library is not there. */
  private static final class WithoutRocksDbJni extends ClassLoader {
    WithoutRocksDbJni(ClassLoader parent) {
      super(parent);
    }

    @Override
    protected Enumeration<URL> findResources(String name) throws IOException {
      if (!name.equals("META-INF/services/" + TableProvider.class.getName())) {
        return Collections.emptyEnumeration();
      }
      Path file = Files.createTempFile("alluvium-", ".service");
      file.toFile().deleteOnExit();
      Files.writeString(file, Unloadable.class.getName());
      return Collections.enumeration(List.of(file.toUri().toURL()));
    }
  }

  /** As that of RocksDB without its library. */
  public static final class Unloadable implements TableProvider {
    @Override
    public String name() {
      return "rocksdb";
    }

    @Override
    public String format() {
      return "unloadable-1";
    }

    @Override
    public List<Option<?>> options() {
      throw new NoClassDefFoundError("org/rocksdb/InfoLogLevel");
    }

    @Override
    public Tables open(Configuration configuration, Execution execution, Metrics metrics) {
      throw new NoClassDefFoundError("org/rocksdb/InfoLogLevel");
    }
  }

  @Test
  void open_withTheDefaultTableMissing_namesTheArtifact() {
    assertThatThrownBy(() -> StateBackend.open(Map.of("state.checkpoints.dir", "memory:")))
        .hasMessageContainingAll(
            "'rocksdb' of 'state.backend.type'", "io.alluvium:alluvium-rocksdb-materializer");
  }
}
