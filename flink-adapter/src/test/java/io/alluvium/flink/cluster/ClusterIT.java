package io.alluvium.flink.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.flink.cluster.Installation.Layout;
import io.alluvium.flink.jobs.ClusterJob;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The adapter's jar on a real cluster: in {@code lib/}, and in the jar of a job. */
final class ClusterIT {

  private static final String BACKEND_TYPE = "state.backend.type";
  private static final int CHECKPOINTS = 4;

  @TempDir Path directory;

  @Test
  void cluster_taskManagersKilledAndJobRescaled_isExact() throws Exception {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    ClusterDemo.run(
        directory.resolve("cluster"),
        Installation.ofTheBuild(Layout.LIB),
        new PrintStream(printed, true, StandardCharsets.UTF_8));
    assertThat(printed.toString(StandardCharsets.UTF_8)).contains("result: exact");
  }

  @Test
  void taskManager_jobAfterJobWithTheAdapterInItsJar_keepsNothingOfThem() throws Exception {
    Installation installation = Installation.ofTheBuild(Layout.USER_JAR);
    assertThat(installation.flink()).doesNotContain("alluvium-");
    Map<String, String> settings = new HashMap<>(ClusterDemo.settings(directory));
    // Of the job alone: the cluster does not know the class.
    String backend = "-D" + BACKEND_TYPE + "=" + settings.remove(BACKEND_TYPE);
    try (ProcessCluster cluster =
        ProcessCluster.start(directory, installation.classPath(), settings)) {
      ClusterJob job = ClusterJob.of(directory, installation.withJob());
      JobControl control = new JobControl(cluster, job);
      TaskManagerInside inside = new TaskManagerInside(cluster, cluster.startTaskManager());
      control.awaitSlots(2);

      String first = control.submit(2, List.of(backend));
      control.awaitCheckpoints(first, CHECKPOINTS);
      assertThat(inside.ownThreads()).isPositive();
      assertThat(inside.userClassLoaders()).isPositive();
      String savepoint = control.stop(first, directory.resolve("savepoints").toUri().toString());
      inside.awaitNothingLeft();

      job.fullSpeed();
      for (int i = 0; i < TaskManagerInside.KEPT_BY_THE_JDK; i++) {
        String next = control.submit(2, List.of(backend, "-s", savepoint));
        control.awaitFinished(next);
        job.checkComplete();
        inside.awaitNothingLeft();
      }
    }
  }
}
