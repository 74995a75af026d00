package io.alluvium.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackend;
import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** On the class path of core alone: no log, no RocksDB, no object storage. */
final class ProvidersTest {

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
                            + " is not on the class path, which offers file, memory",
                        "the value 'haep' of 'state.backend.type' is not on the class path, which"
                            + " offers heap; did you mean 'heap'?",
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
  void options_ofAProviderWhoseLibraryIsMissing_namesTheLibrary() {
    assertThatThrownBy(
            () ->
                Providers.options(
                    "rocksdb",
                    () -> {
                      throw new NoClassDefFoundError("org/rocksdb/InfoLogLevel");
                    }))
        .isInstanceOf(StateBackendException.class)
        .hasMessageContainingAll("org/rocksdb/InfoLogLevel", "org.rocksdb:rocksdbjni");
  }

  @Test
  void open_withTheDefaultTableMissing_namesTheArtifact() {
    assertThatThrownBy(() -> StateBackend.open(Map.of("state.checkpoints.dir", "memory:")))
        .hasMessageContainingAll(
            "'rocksdb' of 'state.backend.type'", "io.alluvium:alluvium-rocksdb-materializer");
  }
}
