package io.alluvium.cli;

import io.alluvium.cli.input.JobException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * Where the demonstration keeps its checkpoints: below its own directory, or in a bucket. Confined
 * to the main thread; owns the server that it starts.
 */
final class DemoStore implements AutoCloseable {

  @Option(
      names = "--s3",
      description =
          "Keep the checkpoints in object storage: in a MinIO server that is started through"
              + " Docker, and removed, or in the one that --endpoint names.")
  private boolean s3;

  @Option(
      names = "--endpoint",
      paramLabel = "URL",
      description =
          "A server that speaks S3, instead of one in Docker; credentials come from where the AWS"
              + " SDK looks for them. With --s3.")
  private @Nullable String endpoint;

  @Option(
      names = "--bucket",
      paramLabel = "NAME",
      description =
          "The bucket there, which must exist; the checkpoints are kept below 'alluvium-demo' in it."
              + " Default: alluvium.")
  private @Nullable String bucket;

  private Optional<MinioInDocker> minio = Optional.empty();

  /** Starts what is needed. */
  void open() {
    if (!s3 && (endpoint != null || bucket != null)) {
      throw JobException.usage("--endpoint and --bucket go with --s3");
    }
    if (s3 && endpoint == null) {
      if (bucket != null) {
        throw JobException.usage("--bucket goes with --endpoint; MinIO in Docker has a bucket");
      }
      minio = Optional.of(MinioInDocker.start());
    }
  }

  /** What is said of it before the demonstration; empty when it is a local directory. */
  Optional<String> announcement() {
    return s3
        ? Optional.of(
            "checkpoints in '"
                + uri()
                + "' at "
                + server()
                + (minio.isPresent() ? " (MinIO in Docker)" : ", where they stay"))
        : Optional.empty();
  }

  private String uri() {
    return "s3://" + (bucket == null ? MinioInDocker.BUCKET : bucket) + "/alluvium-demo";
  }

  private String server() {
    return minio.map(server -> server.endpoint().toString()).orElse(String.valueOf(endpoint));
  }

  /** What the worker's command line needs for it. */
  List<String> arguments() {
    List<String> arguments = new ArrayList<>();
    if (s3) {
      for (String setting :
          List.of(
              "state.checkpoints.dir=" + uri(),
              "s3.endpoint=" + server(),
              "s3.path-style-access=true")) {
        arguments.addAll(List.of("--set", setting));
      }
    }
    return arguments;
  }

  /** What the worker's environment needs for it. */
  Map<String, String> environment() {
    return minio.map(MinioInDocker::environment).orElse(Map.of());
  }

  @Override
  public void close() {
    minio.ifPresent(MinioInDocker::close);
  }
}
