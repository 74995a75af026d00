package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.alluvium.testkit.s3.S3Server;
import org.junit.jupiter.api.Test;

/** {@code alluvium demo --s3}. */
final class DemoOnS3IT {

  @Test
  void demo_withItsCheckpointsInABucket_isExact() {
    S3Server server = S3Server.get();
    Cli.Result demo =
        Cli.run(
            "demo",
            "--s3",
            "--endpoint",
            server.endpoint().toString(),
            "--bucket",
            S3Server.BUCKET);
    assertThat(demo.status()).as(demo.out() + demo.err()).isZero();
    assertThat(demo.out())
        .contains("checkpoints in 's3://alluvium/alluvium-demo' at " + server.endpoint())
        .contains("EXACT: ");
    assertThat(server.objects("s3://" + S3Server.BUCKET + "/alluvium-demo"))
        .anyMatch(name -> name.startsWith("slots/"));
  }

  @Test
  void demo_withoutDocker_isToldInOneSentence() {
    assertThat(catchThrowable(() -> MinioInDocker.start("alluvium-has-no-such-command")))
        .hasMessageContainingAll("no Docker engine answers", "--endpoint URL");
  }

  @Test
  void demo_endpointWithoutS3_isRefused() {
    Cli.Result demo = Cli.run("demo", "--endpoint", "http://127.0.0.1:1");
    assertThat(demo.status()).isEqualTo(2);
    assertThat(demo.sentence()).contains("--endpoint", "--s3");
  }
}
