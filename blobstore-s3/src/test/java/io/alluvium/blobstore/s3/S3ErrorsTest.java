package io.alluvium.blobstore.s3;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.blobstore.s3.ScriptedServer.Answer;
import io.alluvium.config.Configuration;
import io.alluvium.spi.BlobStore;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a user reads when storage does not work. */
class S3ErrorsTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          404 | NoSuchBucket              | INVALID     | there is no bucket 'bucket'
          403 | AccessDenied              | INVALID     | allow these credentials
          403 | InvalidAccessKeyId        | INVALID     | correct the credentials
          403 | SignatureDoesNotMatch     | INVALID     | correct the credentials
          400 | ExpiredToken              | UNAVAILABLE | renew the credentials
          403 | RequestTimeTooSkewed      | UNAVAILABLE | set it right
          503 | SlowDown                  | UNAVAILABLE | asks for fewer requests
          429 | TooManyRequests           | UNAVAILABLE | asks for fewer requests
          500 | InternalError             | UNAVAILABLE | try again
          400 | BadDigest                 | UNAVAILABLE | arrived damaged
          400 | RequestTimeout            | UNAVAILABLE | did not arrive in time
          400 | IncompleteBody            | UNAVAILABLE | not all of them; try again
          400 | KMS.DisabledException     | INVALID     | s3.sse.kms-key-id
          501 | NotImplemented            | INVALID     | newer version of that server
          400 | EntityTooLarge            | INVALID     | EntityTooLarge
          """)
  void put_refused_givesOneSentenceWithTheRemedy(int status, String code, Kind kind, String remedy)
      throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(Answer.error(status, code, "because", Map.of()));
        BlobStore store = server.store(Map.of())) {
      expect(kind, store, "cannot store blob 'data/a' in 's3://bucket/job': ", remedy);
    }
  }

  @Test
  void put_bucketOfAnotherRegion_namesTheRegion() throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(
                Answer.error(
                    301,
                    "PermanentRedirect",
                    "moved",
                    Map.of("x-amz-bucket-region", "eu-west-1")));
        BlobStore store = server.store(Map.of())) {
      expect(Kind.INVALID, store, "is in the region 'eu-west-1'", "set s3.region=eu-west-1");
    }
  }

  @Test
  void put_signedForAnotherRegion_namesTheRegion() throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(
                Answer.error(
                    400,
                    "AuthorizationHeaderMalformed",
                    "the region 'us-east-1' is wrong; expecting 'eu-west-3'",
                    Map.of()));
        BlobStore store = server.store(Map.of())) {
      expect(Kind.INVALID, store, "is in the region 'eu-west-3'", "set s3.region=eu-west-3");
    }
  }

  @Test
  void put_nothingListens_namesTheEndpoint() throws IOException {
    TestServer.setCredentials();
    // Bound but not listening: connections are refused, and nobody else can be given the port.
    try (Socket bound = new Socket()) {
      bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      String endpoint = "http://127.0.0.1:" + bound.getLocalPort();
      // It does not wait; no machine is so busy that loading the client's classes takes as long.
      try (BlobStore store = store(endpoint, "2min")) {
        expect(Kind.UNAVAILABLE, store, "nothing answers at " + endpoint, "s3.endpoint");
      }
    }
  }

  @Test
  void put_silentServer_isUnavailable() throws IOException {
    TestServer.setCredentials();
    try (ServerSocket silent = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        BlobStore store = store("http://127.0.0.1:" + silent.getLocalPort())) {
      expect(Kind.UNAVAILABLE, store, "did not answer in time", "s3.request.timeout");
    }
  }

  /** As a server does that restarts. */
  @Test
  void put_connectionsAreReset_saysSoInASentence() throws IOException {
    TestServer.setCredentials();
    // Longer than the machine stalls: it must be the reset that ends the request.
    try (ServerSocket resetting = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        BlobStore store = store("http://127.0.0.1:" + resetting.getLocalPort(), "20s")) {
      Thread server = new Thread(() -> resetAll(resetting), "resetting");
      server.setDaemon(true);
      server.start();
      expect(
          Kind.UNAVAILABLE,
          store,
          "http://127.0.0.1:" + resetting.getLocalPort() + " closed the connection before it");
    }
  }

  private static void resetAll(ServerSocket server) {
    try {
      while (true) {
        try (Socket client = server.accept()) {
          int unused = client.getInputStream().read();
          client.setSoLinger(true, 0);
        }
      }
    } catch (IOException e) {
      // The test is over.
    }
  }

  @Test
  void putIfAbsent_serverFails_isAttemptedOnce() throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(Answer.error(503, "SlowDown", "later", Map.of()));
        BlobStore store = server.store(Map.of())) {
      assertThatThrownBy(() -> store.putIfAbsent("slots/1", new byte[] {1}))
          .isInstanceOf(StateBackendException.class);
      assertThat(server.methods()).containsExactly("PUT");
    }
  }

  @Test
  void putIfAbsent_conflictThatStays_isUnavailableAfterSeveralAttempts() throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(Answer.error(409, "ConditionalRequestConflict", "again", Map.of()));
        BlobStore store = server.store(Map.of())) {
      assertThatThrownBy(() -> store.putIfAbsent("slots/1", new byte[] {1}))
          .isInstanceOfSatisfying(
              StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNAVAILABLE));
      assertThat(server.methods()).hasSize(5).containsOnly("PUT");
    }
  }

  @Test
  void putIfAbsent_unknownToTheServer_namesTheOption() throws IOException {
    try (ScriptedServer server = new ScriptedServer(Answer.error(501, "NotImplemented"));
        BlobStore store = server.store(Map.of())) {
      assertThatThrownBy(() -> store.putIfAbsent("slots/1", new byte[] {1}))
          .isInstanceOfSatisfying(
              StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
          .hasMessageContainingAll("If-None-Match", "alluvium.fencing=none");
    }
  }

  @Test
  void put_serverFails_isAttemptedAgain() throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(Answer.error(500, "InternalError", "oops", Map.of()));
        BlobStore store = server.store(Map.of())) {
      expect(Kind.UNAVAILABLE, store, "InternalError", "try again");
      assertThat(server.methods()).containsExactly("PUT", "PUT");
    }
  }

  private static BlobStore store(String endpoint) {
    return store(endpoint, "500ms");
  }

  private static BlobStore store(String endpoint, String timeout) {
    return new S3BlobStoreProvider()
        .open(
            URI.create("s3://bucket/job"),
            Configuration.of(
                Map.of(
                    "s3.endpoint", endpoint,
                    "s3.path-style-access", "true",
                    "s3.request.max-attempts", "1",
                    "s3.request.attempt-timeout", timeout,
                    "s3.request.timeout", timeout),
                S3Options.ALL));
  }

  private static void expect(Kind kind, BlobStore store, String... parts) {
    assertThatThrownBy(() -> store.put("data/a", List.of(ByteBuffer.wrap(new byte[] {1, 2}))))
        .isInstanceOfSatisfying(
            StateBackendException.class,
            e -> {
              assertThat(e.kind()).as(e.getMessage()).isEqualTo(kind);
              assertThat(e.getMessage()).contains(parts).doesNotContain("\n");
            });
  }
}
