package io.alluvium.testkit.s3;

import java.net.URI;
import java.util.Map;
import org.testcontainers.containers.MinIOContainer;
import org.testcontainers.utility.DockerImageName;

/** MinIO in a container that Testcontainers ends with this process. Stateless. */
final class MinioServer {

  private static final String IMAGE = "minio/minio:latest";

  private MinioServer() {}

  /** Starts it; its objects are in memory, since tests keep nothing. */
  @SuppressWarnings("resource") // ended by Testcontainers
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
