package io.alluvium.cli;

import io.alluvium.cli.input.JobException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * A MinIO server in a Docker container, with one empty bucket; it ends with this process at the
 * latest. Confined to one thread.
 */
public final class MinioInDocker implements AutoCloseable {

  /** The bucket that is there. */
  public static final String BUCKET = "alluvium";

  private static final String IMAGE = "minio/minio:latest";
  private static final String USER = "alluvium";
  private static final int PORT = 9000;
  private static final Duration START = Duration.ofSeconds(60);

  private final String docker;
  private final String password = UUID.randomUUID().toString();
  private final Thread hook = new Thread(this::remove);
  private String container = "";
  private URI endpoint = URI.create("");

  private MinioInDocker(String docker) {
    this.docker = docker;
  }

  /** Starts a server; one sentence says why when it cannot. */
  public static MinioInDocker start() {
    return start("docker");
  }

  /**
   * Starts a server.
   *
   * @param docker the command
   */
  static MinioInDocker start(String docker) {
    MinioInDocker minio = new MinioInDocker(docker);
    try {
      minio.run();
      return minio;
    } catch (RuntimeException e) {
      minio.close();
      throw e;
    }
  }

  private void run() {
    String unusedVersion =
        docker("no Docker engine answers", "version", "--format", "{{.Server.Version}}");
    String doing = "the image " + IMAGE + " does not start";
    Runtime.getRuntime().addShutdownHook(hook);
    container =
        docker(
            doing,
            "create",
            "--publish",
            "127.0.0.1::" + PORT,
            "--env",
            "MINIO_ROOT_USER=" + USER,
            "--env",
            "MINIO_ROOT_PASSWORD=" + password,
            IMAGE,
            "server",
            "/data");
    makeBucket(doing);
    String unusedName = docker(doing, "start", container);
    String published =
        docker(doing, "port", container, PORT + "/tcp").lines().findFirst().orElse("");
    endpoint = URI.create("http://" + published);
    awaitHealth();
  }

  /** To MinIO, a directory among its data is a bucket. */
  private void makeBucket(String doing) {
    try {
      Path data = Files.createTempDirectory("alluvium-minio-");
      try {
        Path unused = Files.createDirectory(data.resolve(BUCKET));
        String unusedCopy = docker(doing, "cp", data + "/.", container + ":/data");
      } finally {
        DemoFiles.deleteTree(data);
      }
    } catch (IOException e) {
      throw new JobException("a temporary directory cannot be made: " + e.getMessage(), e);
    }
  }

  private void awaitHealth() {
    HttpRequest health =
        HttpRequest.newBuilder(endpoint.resolve("/minio/health/live"))
            .timeout(Duration.ofSeconds(5))
            .build();
    HttpClient client = HttpClient.newHttpClient();
    long end = System.nanoTime() + START.toNanos();
    while (true) {
      String problem;
      try {
        int status = client.send(health, HttpResponse.BodyHandlers.discarding()).statusCode();
        if (status == 200) {
          return;
        }
        problem = "status " + status;
        Thread.sleep(100);
      } catch (IOException e) {
        problem = String.valueOf(e.getMessage());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new JobException("interrupted while MinIO started", e);
      }
      if (System.nanoTime() > end) {
        throw failed("MinIO did not answer at " + endpoint + " within a minute", problem);
      }
    }
  }

  /** Where the server answers. */
  public URI endpoint() {
    return endpoint;
  }

  /** Credentials, as the environment of a process that uses the server. */
  public Map<String, String> environment() {
    return Map.of("AWS_ACCESS_KEY_ID", USER, "AWS_SECRET_ACCESS_KEY", password);
  }

  /** What the command printed, without the end of the line. */
  private String docker(String problem, String... arguments) {
    List<String> command = new ArrayList<>(List.of(docker));
    command.addAll(List.of(arguments));
    try {
      Path errors = Files.createTempFile("alluvium-docker-", ".txt");
      try {
        Process process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
        String out =
            new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
        if (process.waitFor() == 0) {
          return out;
        }
        String last = Files.readString(errors).lines().reduce("", (before, line) -> line);
        throw failed(problem, last);
      } finally {
        Files.delete(errors);
      }
    } catch (IOException e) {
      throw failed(problem, String.valueOf(e.getMessage()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new JobException("interrupted while MinIO started", e);
    }
  }

  private static JobException failed(String problem, String reason) {
    return new JobException(
        "MinIO is started through Docker, but "
            + problem
            + (reason.isBlank() ? "" : " (" + reason.trim() + ")")
            + "; put that right, or name a server that speaks S3 with --endpoint URL");
  }

  private void remove() {
    if (!container.isEmpty()) {
      String unused =
          docker("its container cannot be removed", "rm", "--force", "--volumes", container);
      container = "";
    }
  }

  /** Removes the container with all that it holds. */
  @Override
  public void close() {
    remove();
    try {
      boolean unused = Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // The process is ending, and the hook has nothing left to do.
    }
  }
}
