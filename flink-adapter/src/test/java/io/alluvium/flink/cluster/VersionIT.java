package io.alluvium.flink.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.flink.AlluviumStateBackend;
import io.alluvium.flink.cluster.Installation.Layout;
import io.alluvium.flink.jobs.ClusterJob;
import io.alluvium.spi.Table;
import java.nio.file.Path;
import java.util.List;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A short job on a cluster of one version of Flink, with the jar that users install. The modules
 * below {@code flink-versions} run it on each supported version but the newest, which has {@link
 * ClusterIT}.
 */
final class VersionIT {

  private static final int CHECKPOINTS = 3;

  @TempDir Path directory;

  /** What the suites run here is what users install, and this version of Flink. */
  @Test
  void classes_areOfTheInstallJarAndOfThisFlink() throws Exception {
    Path installed = Installation.ofTheBuild(Layout.LIB).adapter().toRealPath();
    for (Class<?> type : List.of(AlluviumStateBackend.class, Table.class)) {
      Path place = Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
      assertThat(place.toRealPath()).as(type.getName()).isEqualTo(installed);
    }
    assertThat(EnvironmentInformation.getVersion())
        .isEqualTo(System.getProperty("alluvium.flink.version"));
  }

  @Test
  void job_taskManagerKilled_isExact() throws Exception {
    try (ProcessCluster cluster =
        ProcessCluster.start(
            directory,
            Installation.ofTheBuild(Layout.LIB).classPath(),
            ClusterDemo.settings(directory))) {
      ClusterJob job = ClusterJob.of(directory, List.of());
      JobControl control = new JobControl(cluster, job);
      String killed = cluster.startTaskManager();
      control.awaitSlots(2);
      String id = control.submit(2, List.of());
      control.awaitCheckpoints(id, CHECKPOINTS);
      cluster.kill(killed);
      cluster.startTaskManager();
      control.awaitRestore(id);
      control.checkNothingWrong();
      job.fullSpeed();
      control.awaitFinished(id);
      job.checkComplete();
    }
  }
}
