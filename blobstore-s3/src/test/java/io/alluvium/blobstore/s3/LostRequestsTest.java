package io.alluvium.blobstore.s3;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.config.Configuration;
import io.alluvium.spi.BlobStore;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Every request ends, whatever the server does or the client loses. */
@Timeout(120)
class LostRequestsTest {

  private static final int MB = 1 << 20;

  @TempDir Path directory;

  /** Answers each connection with the same bytes, then neither reads nor writes. */
  private static final class StoppingServer implements AutoCloseable {
    private final ServerSocket listening;
    private final byte[] answer;

    private StoppingServer(String answer) throws IOException {
      TestServer.setCredentials();
      this.answer = answer.getBytes(StandardCharsets.US_ASCII);
      listening = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
      Thread thread = new Thread(this::serve, "stopping-server");
      thread.setDaemon(true);
      thread.start();
    }

    @SuppressWarnings("resource") // a connection stays until the client ends it
    private void serve() {
      try {
        while (true) {
          Socket socket = listening.accept();
          int unused = socket.getInputStream().read();
          socket.getOutputStream().write(answer);
          socket.getOutputStream().flush();
        }
      } catch (IOException e) {
        // The test is over.
      }
    }

    private BlobStore store(Map<String, String> more) {
      Map<String, String> all = new HashMap<>();
      all.put("s3.endpoint", "http://127.0.0.1:" + listening.getLocalPort());
      all.put("s3.path-style-access", "true");
      all.put("s3.request.attempt-timeout", "300ms");
      all.put("s3.request.timeout", "500ms");
      all.putAll(more);
      return new S3BlobStoreProvider()
          .open(URI.create("s3://bucket/job"), Configuration.of(all, S3Options.ALL));
    }

    @Override
    public void close() throws IOException {
      listening.close();
    }
  }

  @Test
  void everyRequest_neverAnswered_isUnavailable() throws IOException {
    Path file = Files.write(directory.resolve("small.sst"), new byte[100]);
    Path big = Files.write(directory.resolve("big.sst"), new byte[11 * MB]);
    try (StoppingServer server = new StoppingServer("");
        BlobStore store = server.store(Map.of("s3.multipart.threshold", "5 mb"))) {
      expectNoAnswer(() -> store.put("data/a", List.of(ByteBuffer.allocate(MB / 10))));
      expectNoAnswer(() -> store.putIfAbsent("slots/1", new byte[10]));
      expectNoAnswer(() -> store.putFile("data/b", file));
      expectNoAnswer(() -> store.putFile("data/c", big));
      expectNoAnswer(() -> store.open("data/a", 0, 10).close());
      expectNoAnswer(() -> store.size("data/a"));
      expectNoAnswer(() -> store.list("data/"));
      expectNoAnswer(() -> store.delete(List.of("data/a")));
    }
  }

  @Test
  void open_serverStopsInTheMiddleOfTheBody_isUnavailable() throws IOException {
    try (StoppingServer server =
            new StoppingServer(
                "HTTP/1.1 206 Partial Content\r\nContent-Length: 1000\r\n"
                    + "Content-Range: bytes 0-999/1000\r\n\r\n0123456789");
        BlobStore store = server.store(Map.of())) {
      expectNoAnswer(() -> store.open("data/a", 0, 1000).close());
    }
  }

  /** What comes now and then must not keep a request alive. */
  @Test
  void open_bodyThatNeverEnds_isUnavailable() throws IOException {
    TestServer.setCredentials();
    try (StoppingServer server =
            new StoppingServer(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + "1\r\nx\r\n".repeat(50));
        BlobStore store = server.store(Map.of())) {
      expectNoAnswer(() -> store.open("data/a", 0, 1000).close());
    }
  }

  /** The client lost one of ten thousand refused connections; its own bound ended that one. */
  @Test
  void await_requestThatTheClientLost_isUnavailable() throws IOException {
    try (S3Connection connection = lossy("250ms")) {
      CompletableFuture<String> lost = new CompletableFuture<>();
      expectNoAnswer(() -> connection.await(lost, "store blob 'data/a'"));
      assertThat(lost).isDone();
    }
  }

  /** One that sends much may take longer. */
  @Test
  void await_requestOfManyBytes_hasASecondForEachMegabyte() {
    try (S3Connection connection = lossy("1ms")) {
      assertThat(connection.patience(256L * MB).apiCallAttemptTimeout().orElseThrow())
          .hasSeconds(276);
      CompletableFuture<String> slow = new CompletableFuture<>();
      CompletableFuture<String> bounded = connection.bounded(slow, 3600L * MB);
      expectNoAnswer(() -> connection.await(new CompletableFuture<>(), "wait"));
      assertThat(bounded).isNotDone();
      slow.complete("stored");
    }
  }

  private static S3Connection lossy(String timeout) {
    TestServer.setCredentials();
    return S3Connection.open(
        S3Settings.of(
            S3Location.parse(URI.create("s3://bucket/job")),
            Configuration.of(
                Map.of("s3.endpoint", "http://127.0.0.1:1", "s3.request.timeout", timeout),
                S3Options.ALL)));
  }

  private static void expectNoAnswer(ThrowingCallable request) {
    assertThatThrownBy(request)
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNAVAILABLE))
        .hasMessageContaining("did not answer in time");
  }
}
