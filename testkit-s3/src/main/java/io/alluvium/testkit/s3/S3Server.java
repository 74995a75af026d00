package io.alluvium.testkit.s3;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.testcontainers.DockerClientFactory;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.model.MultipartUpload;

/**
 * The S3 server of all tests in this process, started by the first one: MinIO in a container if a
 * Docker engine is available, otherwise S3Proxy in this process. One line in the log reports the
 * choice. The server ends with the process. Thread-safe.
 *
 * <p>The environment variable {@code ALLUVIUM_TEST_S3} overrides the choice: {@code minio} (fails
 * if it cannot be started) or {@code in-process}.
 */
public final class S3Server {

  /** The kind of server. */
  public enum Kind {
    MINIO,
    IN_PROCESS
  }

  /** A bucket that always exists. */
  public static final String BUCKET = "alluvium";

  static final String ACCESS_KEY = "test";
  static final String SECRET_KEY = "test-secret";

  private static final Logger LOG = LoggerFactory.getLogger(S3Server.class);
  private static final String CHOICE = "ALLUVIUM_TEST_S3";
  private static final AtomicInteger PREFIXES = new AtomicInteger();

  /** Starts the server at the first use. */
  private static final class Holder {
    private static final S3Server INSTANCE = start();
  }

  private final Kind kind;
  private final URI endpoint;

  /** Shared by all inspections of the server, because closing a client takes two seconds. */
  private final S3AsyncClient inspector;

  private S3Server(Kind kind, URI endpoint) {
    this.kind = kind;
    this.endpoint = endpoint;
    this.inspector = client();
  }

  /** Returns the server; starts it at the first call. */
  public static S3Server get() {
    return Holder.INSTANCE;
  }

  private static S3Server start() {
    setCredentials();
    @Nullable String text = System.getenv(CHOICE);
    String choice = text == null ? "" : text.toLowerCase(Locale.ROOT);
    String reason = CHOICE + " asks for it";
    if (!choice.equals("in-process")) {
      try {
        if (choice.equals("minio") || DockerClientFactory.instance().isDockerAvailable()) {
          return startMinio();
        }
        reason = "no Docker engine answers";
      } catch (RuntimeException | LinkageError e) {
        // Testcontainers starts helper containers while its classes are initialized.
        if (choice.equals("minio")) {
          throw e;
        }
        reason = "MinIO does not start in Docker: " + e;
      }
    }
    S3Server server = new S3Server(Kind.IN_PROCESS, InProcessServer.start());
    LOG.warn(
        "S3 tests are served by S3Proxy in this process, at {}, because {}",
        server.endpoint,
        reason);
    return server;
  }

  private static S3Server startMinio() {
    S3Server server = new S3Server(Kind.MINIO, MinioServer.start());
    var unused = server.inspector.createBucket(bucket -> bucket.bucket(BUCKET)).join();
    LOG.warn("S3 tests are served by MinIO in a container, at {}", server.endpoint);
    return server;
  }

  /** Sets the credentials of the server in the system properties, the first source of the SDK. */
  public static void setCredentials() {
    System.setProperty("aws.accessKeyId", ACCESS_KEY);
    System.setProperty("aws.secretAccessKey", SECRET_KEY);
  }

  /** The credentials as command line options for another JVM. */
  public static List<String> credentialOptions() {
    return List.of("-Daws.accessKeyId=" + ACCESS_KEY, "-Daws.secretAccessKey=" + SECRET_KEY);
  }

  public Kind kind() {
    return kind;
  }

  public URI endpoint() {
    return endpoint;
  }

  /** Settings of a store for this server. */
  public Map<String, String> settings() {
    return settings(endpoint);
  }

  /** Settings of a store for this server behind another address, for example of a proxy. */
  public static Map<String, String> settings(URI endpoint) {
    return Map.of("s3.endpoint", endpoint.toString(), "s3.path-style-access", "true");
  }

  /** A new, empty directory of blobs. */
  public static String freshUri() {
    return "s3://" + BUCKET + "/test/" + PREFIXES.incrementAndGet();
  }

  /** A plain client, to inspect the server without a store. The caller closes it. */
  public S3AsyncClient client() {
    return S3AsyncClient.builder()
        .endpointOverride(endpoint)
        .region(Region.US_EAST_1)
        .forcePathStyle(true)
        .credentialsProvider(
            StaticCredentialsProvider.create(AwsBasicCredentials.create(ACCESS_KEY, SECRET_KEY)))
        .build();
  }

  /** The blob names of all objects in a directory, ascending. */
  public List<String> objects(String uri) {
    String prefix = prefix(uri);
    List<String> names = new ArrayList<>();
    inspector
        .listObjectsV2Paginator(list -> list.bucket(BUCKET).prefix(prefix))
        .contents()
        .subscribe(object -> names.add(object.key().substring(prefix.length())))
        .join();
    return names;
  }

  /** The bytes of an object of a directory. */
  public byte[] object(String uri, String name) {
    String key = prefix(uri) + name;
    return inspector
        .getObject(get -> get.bucket(BUCKET).key(key), AsyncResponseTransformer.toBytes())
        .join()
        .asByteArray();
  }

  /** The object names of all unfinished multipart uploads in a directory. */
  public List<String> unfinishedUploads(String uri) {
    String prefix = prefix(uri);
    // MinIO lists multipart uploads only for a prefix that is a whole key.
    return inspector.listMultipartUploads(list -> list.bucket(BUCKET)).join().uploads().stream()
        .map(MultipartUpload::key)
        .filter(key -> key.startsWith(prefix))
        .map(key -> key.substring(prefix.length()))
        .toList();
  }

  private static String prefix(String uri) {
    String start = "s3://" + BUCKET + "/";
    if (!uri.startsWith(start)) {
      throw new IllegalArgumentException("'" + uri + "' is not in the bucket " + BUCKET);
    }
    return uri.substring(start.length()) + "/";
  }
}
