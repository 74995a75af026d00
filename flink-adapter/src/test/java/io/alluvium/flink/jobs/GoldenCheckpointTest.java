package io.alluvium.flink.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.flink.AlluviumOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.util.ExceptionUtils;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Checkpoints that older versions of Alluvium wrote; those of a newer one are refused. */
final class GoldenCheckpointTest {

  private static final Path GOLDEN = Path.of("src", "test", "resources", "golden");
  private static final byte[] MAGIC = {'A', 'L', 'F', 'K'};
  private static final int VERSION_OFFSET = 4;
  private static final int CRC_OFFSET = 5;
  private static final int BODY_OFFSET = 9;
  private static final byte NEWER = 77;

  private static Cluster cluster;

  @TempDir Path directory;

  @BeforeAll
  static void start() throws Exception {
    cluster = new Cluster(new Configuration());
  }

  @AfterAll
  static void stop() throws Exception {
    cluster.close();
  }

  static List<Path> checkpoints() throws IOException {
    Path golden = Path.of(System.getProperty("alluvium.root"), "flink-adapter").resolve(GOLDEN);
    try (Stream<Path> all = Files.list(golden)) {
      return all.sorted().toList();
    }
  }

  private String copyOf(Path golden) throws IOException {
    try (Stream<Path> files = Files.walk(golden)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        Path copy = directory.resolve(golden.relativize(file));
        Files.createDirectories(copy.getParent());
        Files.copy(file, copy);
      }
    }
    GoldenFileSystem.root(directory);
    return GoldenFileSystem.ROOT + directory.relativize(GoldenWriter.checkpoint(directory));
  }

  private static Set<String> show(String checkpoint, int parallelism, String table)
      throws Exception {
    String name = "golden-" + parallelism;
    JobRun run = JobRun.start(name);
    try {
      Configuration configuration =
          Scenario.configuration(new Random(1), GoldenFileSystem.ROOT + "new");
      configuration.set(AlluviumOptions.TABLE, table);
      configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
      cluster.awaitFinished(
          cluster.submit(
              GoldenJob.showing(configuration, parallelism, name),
              SavepointRestoreSettings.forPath(checkpoint, true, RecoveryClaimMode.NO_CLAIM)));
      return new TreeSet<>(run.lines());
    } finally {
      JobRun.end(name);
    }
  }

  @ParameterizedTest
  @MethodSource("checkpoints")
  void checkpoint_ofAnOlderVersion_givesItsExactState(Path golden) throws Exception {
    String checkpoint = copyOf(golden);
    List<String> expected = Files.readAllLines(golden.resolve(GoldenWriter.EXPECTED));
    assertThat(expected).hasSizeGreaterThan(3 * GoldenJob.KEYS);
    assertThat(show(checkpoint, 2, "rocksdb")).containsExactlyElementsOf(expected);
    assertThat(show(checkpoint, 3, "heap")).containsExactlyElementsOf(expected);
  }

  @ParameterizedTest
  @MethodSource("checkpoints")
  void checkpoint_ofANewerVersion_isRefusedByName(Path golden) throws Exception {
    String checkpoint = copyOf(golden);
    try (Stream<Path> files = Files.walk(directory)) {
      assertThat(files.filter(Files::isRegularFile).filter(GoldenCheckpointTest::makeNewer))
          .isNotEmpty();
    }
    assertThatThrownBy(() -> show(checkpoint, 2, "rocksdb"))
        .satisfies(
            failure ->
                assertThat(ExceptionUtils.stringifyException(failure))
                    .contains("format version " + NEWER)
                    .contains("reads versions up to 1")
                    .contains("use the version that wrote it or a newer one"));
  }

  /** Whether it is a meta file; its version is then one that does not exist yet. */
  private static boolean makeNewer(Path file) {
    try {
      byte[] bytes = Files.readAllBytes(file);
      ByteBuffer buffer = ByteBuffer.wrap(bytes);
      if (bytes.length < BODY_OFFSET || buffer.getInt(0) != ByteBuffer.wrap(MAGIC).getInt(0)) {
        return false;
      }
      buffer.put(VERSION_OFFSET, NEWER);
      CRC32C crc = new CRC32C();
      crc.update(bytes, 0, CRC_OFFSET);
      crc.update(bytes, BODY_OFFSET, bytes.length - BODY_OFFSET);
      buffer.putInt(CRC_OFFSET, (int) crc.getValue());
      Files.write(file, bytes);
      return true;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
