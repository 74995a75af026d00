package io.alluvium.flink.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The adapter's jar on a real cluster whose TaskManagers are killed. */
final class ClusterIT {

  @TempDir Path directory;

  @Test
  void cluster_taskManagersKilledAndJobRescaled_isExact() throws Exception {
    Path flink = Path.of(System.getProperty("alluvium.flink.classpath"));
    Path adapter = Path.of(System.getProperty("alluvium.flink.adapter"));
    assertThat(flink).exists();
    assertThat(adapter).exists();
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    ClusterDemo.run(
        directory.resolve("cluster"),
        adapter + System.getProperty("path.separator") + Files.readString(flink).trim(),
        new PrintStream(printed, true, StandardCharsets.UTF_8));
    assertThat(printed.toString(StandardCharsets.UTF_8)).contains("result: exact");
  }
}
