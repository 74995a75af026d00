package io.alluvium.flink.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.testkit.Seeds;
import io.alluvium.testkit.s3.S3Server;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.plugin.DefaultPluginManager;
import org.apache.flink.core.plugin.DirectoryBasedPluginFinder;
import org.apache.flink.core.plugin.PluginManager;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The same with checkpoints and savepoints in object storage, through Flink's S3 plugin; with
 * {@code -Pfull} every job, otherwise one with timers and one with windows. The log says which
 * server it was.
 */
final class JobsOnS3Test {

  private static final List<Job> SHORT = List.of(Job.TIMERS, Job.SLIDING);

  private static Cluster cluster;

  @BeforeAll
  static void start(@TempDir Path directory) throws Exception {
    S3Server server = S3Server.get();
    Configuration configuration = new Configuration();
    server.settings().forEach(configuration::setString);
    configuration.setString("s3.access-key", System.getProperty("aws.accessKeyId"));
    configuration.setString("s3.secret-key", System.getProperty("aws.secretAccessKey"));
    configuration.set(CoreOptions.TMP_DIRS, directory.toString());
    FileSystem.initialize(configuration, plugins());
    cluster = new Cluster(configuration);
  }

  /** Those of the build; each in a class loader of its own, as in a cluster. */
  private static PluginManager plugins() throws Exception {
    Path directory = Path.of(System.getProperty("alluvium.flink.plugins"));
    return new DefaultPluginManager(
        new DirectoryBasedPluginFinder(directory).findPlugins(),
        CoreOptions.getPluginParentFirstLoaderPatterns(new Configuration()));
  }

  @AfterAll
  static void stop() throws Exception {
    cluster.close();
    FileSystem.initialize(new Configuration(), null);
  }

  static Stream<Arguments> jobs() {
    List<Job> jobs = Seeds.full() ? List.of(Job.values()) : SHORT;
    return Seeds.of(1).flatMap(seed -> jobs.stream().map(job -> Arguments.of(job, seed)));
  }

  @ParameterizedTest
  @MethodSource("jobs")
  void job_onObjectStorage_failedAndRescaled_isExact(Job job, long seed) throws Exception {
    String storage = S3Server.freshUri();
    List<String> left = new ArrayList<>();
    new RescaledJob(cluster, storage, job, seed)
        .onLeaving(
            path -> {
              assertThat(path).startsWith(storage);
              assertThat(S3Server.get().objects(path)).contains("_metadata");
              left.add(path);
            })
        .run();
    assertThat(left).hasSize(2);
  }
}
