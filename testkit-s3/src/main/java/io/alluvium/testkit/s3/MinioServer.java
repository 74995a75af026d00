package io.alluvium.testkit.s3;

import java.net.URI;
import java.util.Map;
import org.testcontainers.containers.MinIOContainer;
import org.testcontainers.utility.DockerImageName;

/** Starts MinIO in a container, which Testcontainers stops when this process ends. Stateless. */
final class MinioServer {

  private static final String IMAGE = "minio/minio:latest";

  private MinioServer() {}

  /** Starts the container with its objects in memory. */
  @SuppressWarnings("resource") // stopped by Testcontainers
  static URI start() {
    MinIOContainer container =
        new MinIOContainer(DockerImageName.parse(IMAGE))
            .withUserName(S3Server.ACCESS_KEY)
            .withPassword(S3Server.SECRET_KEY)
            .withTmpFs(Map.of("/data", "rw"));
    container.start();
    return URI.create(container.getS3URL());
  }
}
