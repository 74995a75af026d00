package io.alluvium.flink.jobs;

import io.alluvium.testkit.Seeds;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every job keeps its results exact, whatever fails and however it is rescaled. */
final class JobsTest {

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

  static Stream<Arguments> jobs() {
    return Seeds.of(1).flatMap(seed -> Stream.of(Job.values()).map(job -> Arguments.of(job, seed)));
  }

  @ParameterizedTest
  @MethodSource("jobs")
  void job_failedAndRescaled_isExact(Job job, long seed) throws Exception {
    new RescaledJob(cluster, directory.toUri().toString(), job, seed).run();
  }
}
