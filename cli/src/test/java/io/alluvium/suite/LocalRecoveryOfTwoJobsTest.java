package io.alluvium.suite;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.KeyGroupRange;
import io.alluvium.KeyedBackend;
import io.alluvium.StateBackend;
import io.alluvium.serializer.Serializers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two jobs on one machine have the same name, and checkpoints in different places. */
final class LocalRecoveryOfTwoJobsTest {

  @TempDir private Path directory;

  private void run(String place, boolean localRecovery) {
    Properties settings = new Properties();
    settings.setProperty("state.checkpoints.dir", directory.resolve(place).toUri().toString());
    settings.setProperty("state.backend.rocksdb.localdir", directory.resolve("local").toString());
    settings.setProperty("state.backend.local-recovery", String.valueOf(localRecovery));
    try (StateBackend backend = StateBackend.open(settings)) {
      boolean unused = backend.catalog().takeOver("counts").isPresent();
      try (KeyedBackend<String> keyed =
          backend.keyed(Serializers.string(), 8, new KeyGroupRange(0, 8))) {
        assertThat(keyed.keyGroups().size()).isEqualTo(8);
      }
    }
  }

  @Test
  void jobWithoutLocalRecovery_leavesWhatTheOtherKeeps() throws IOException {
    run("production", true);
    List<Path> kept;
    try (Stream<Path> jobs = Files.list(directory.resolve("local").resolve("recovery"))) {
      kept = jobs.toList();
    }
    assertThat(kept).hasSize(1);
    Path file = Files.createDirectories(kept.get(0).resolve("0-8")).resolve("file");
    Files.writeString(file, "x");

    run("test", false);
    assertThat(file).exists();
    run("production", false);
    assertThat(file).doesNotExist();
  }
}
