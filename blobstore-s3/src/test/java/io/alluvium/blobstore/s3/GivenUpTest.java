package io.alluvium.blobstore.s3;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.blobstore.s3.ScriptedServer.Answer;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.RemoteBlobStore;
import io.alluvium.spi.RequestListener;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Puts that nobody needs any more, and what a listener is told. */
class GivenUpTest {

  /** A server that reads what comes and never answers. */
  private static final class SilentServer implements AutoCloseable {
    private final ServerSocket listening;
    private final AtomicInteger connections = new AtomicInteger();
    private final CompletableFuture<Boolean> reached = new CompletableFuture<>();
    private final CompletableFuture<Boolean> closed = new CompletableFuture<>();

    private SilentServer() throws IOException {
      TestServer.setCredentials();
      listening = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
      Thread thread = new Thread(this::serve);
      thread.setDaemon(true);
      thread.start();
    }

    private void serve() {
      while (!listening.isClosed()) {
        try (Socket socket = listening.accept()) {
          connections.incrementAndGet();
          readAll(socket.getInputStream());
          closed.complete(true);
        } catch (IOException e) {
          closed.completeExceptionally(e);
        }
      }
    }

    private void readAll(InputStream in) throws IOException {
      byte[] bytes = new byte[8192];
      try {
        while (in.read(bytes) >= 0) {
          reached.complete(true);
        }
      } catch (SocketException e) {
        // Reset instead of closed: just as gone.
      }
    }

    private RemoteBlobStore store() {
      return (RemoteBlobStore)
          TestServer.at("http://127.0.0.1:" + listening.getLocalPort(), "s3://bucket/job");
    }

    @Override
    public void close() throws IOException {
      listening.close();
    }
  }

  @Test
  void put_givenUp_closesItsConnectionAndIsUnavailable() throws Exception {
    try (SilentServer server = new SilentServer();
        RemoteBlobStore store = server.store()) {
      CompletableFuture<Boolean> givenUp = new CompletableFuture<>();
      var unused = server.reached.thenRun(() -> givenUp.complete(true));
      // More than the buffers of the connection hold.
      List<ByteBuffer> content = List.of(ByteBuffer.allocate(8 << 20));
      expectCancelled(() -> store.put("data/a", content, givenUp));
      assertThat(server.closed.get(20, TimeUnit.SECONDS)).isTrue();
      // Longer than the client pauses before a second attempt.
      Thread.sleep(500);
      assertThat(server.connections).hasValue(1);
    }
  }

  @Test
  void putIfAbsent_givenUp_closesItsConnectionAndIsUnavailable() throws Exception {
    try (SilentServer server = new SilentServer();
        RemoteBlobStore store = server.store()) {
      CompletableFuture<Boolean> givenUp = new CompletableFuture<>();
      var unused = server.reached.thenRun(() -> givenUp.complete(true));
      expectCancelled(() -> store.putIfAbsent("slots/1", new byte[] {1}, givenUp));
      assertThat(server.closed.get(20, TimeUnit.SECONDS)).isTrue();
    }
  }

  private static void expectCancelled(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            StateBackendException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNAVAILABLE))
        .hasMessageContaining("cancelled");
  }

  /** Writes down what it is told. */
  private static final class Told implements RequestListener {
    private final List<String> requests = new CopyOnWriteArrayList<>();
    private final AtomicInteger complaints = new AtomicInteger();

    @Override
    public void requested(Verb verb, String name, long bytes) {
      requests.add(verb + " " + name + " " + bytes);
    }

    @Override
    public void throttled() {
      complaints.incrementAndGet();
    }
  }

  @Test
  void listen_everyAttemptIsToldAndEveryComplaint() throws IOException {
    Told told = new Told();
    try (ScriptedServer server = new ScriptedServer(Answer.error(503, "SlowDown"), Answer.ok(""));
        RemoteBlobStore store = (RemoteBlobStore) server.store(Map.of())) {
      store.listen(told);
      store.put("data/a", List.of(ByteBuffer.allocate(100)));
      assertThat(told.requests).containsExactly("PUT data/a 100", "PUT data/a 100");
      assertThat(told.complaints).hasValue(1);
    }
  }

  @Test
  void listen_eachKindOfRequest_isToldWithNameAndBytes() {
    Told told = new Told();
    try (BlobStore store = TestServer.open(Map.of())) {
      ((RemoteBlobStore) store).listen(told);
      store.put("data/a", List.of(ByteBuffer.allocate(100)));
      assertThat(store.putIfAbsent("slots/1", new byte[7])).isTrue();
      assertThat(store.read("data/a", 10, 50)).hasSize(50);
      assertThat(store.size("data/a")).hasValue(100);
      assertThat(store.list("data/")).hasSize(1);
      store.delete(List.of("data/a"));
      assertThat(told.requests)
          .hasSize(6)
          .startsWith(
              "PUT data/a 100", "PUT slots/1 7", "GET data/a 50", "GET data/a 0", "LIST data/ 0")
          .last()
          .asString()
          .startsWith("DELETE ");
    }
  }
}
