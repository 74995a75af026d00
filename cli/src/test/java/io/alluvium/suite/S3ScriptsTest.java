package io.alluvium.suite;

import io.alluvium.testkit.MemoryDirectories;
import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.script.Scripts;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Some of the histories of {@link ScriptsTest}, on object storage. */
final class S3ScriptsTest {

  @TempDir(factory = MemoryDirectories.class)
  private Path directory;

  static Stream<Long> seeds() {
    return Seeds.of(12);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void simulated_onS3_equalsTheModel(long seed) {
    Scripts.simulate(
        seed,
        ScriptsTest.matrix("heap", "yielding-heap", "rocksdb"),
        ScriptsTest.LENGTH,
        directory,
        S3Stores::fresh);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void threaded_onS3_equalsTheModel(long seed) {
    Scripts.runOnThreads(
        seed, ScriptsTest.onThreads(), ScriptsTest.LENGTH, directory, S3Stores::fresh);
  }
}
