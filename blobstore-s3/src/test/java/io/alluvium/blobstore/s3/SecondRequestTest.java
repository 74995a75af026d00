package io.alluvium.blobstore.s3;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.alluvium.internal.execution.ThreadedExecution;
import io.alluvium.internal.remote.GuardedBlobStore;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Metrics;
import io.alluvium.spi.RequestListener;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Second requests on real threads and real connections, for a server that now and then stalls. */
class SecondRequestTest {

  private static final int PUTS = 600;
  private static final int ONE_IN = 100;

  /** Does not answer the first request for one of many names, as long as it is open. */
  private static final class StallingServer implements AutoCloseable {
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Set<String> seen = ConcurrentHashMap.newKeySet();
    private final AtomicInteger requests = new AtomicInteger();
    private final CountDownLatch closing = new CountDownLatch(1);
    private final HttpServer server;

    private StallingServer() throws IOException {
      TestServer.setCredentials();
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      server.setExecutor(threads);
      server.createContext("/", this::serve);
      server.start();
    }

    private void serve(HttpExchange exchange) throws IOException {
      try (exchange) {
        int unused = exchange.getRequestBody().readAllBytes().length;
        requests.incrementAndGet();
        if (seen.add(exchange.getRequestURI().getPath()) && seen.size() % ONE_IN == 0) {
          stall();
        }
        exchange.sendResponseHeaders(200, -1);
      }
    }

    private void stall() {
      try {
        closing.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    private String endpoint() {
      return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    @Override
    public void close() {
      closing.countDown();
      server.stop(0);
      threads.shutdownNow();
    }
  }

  @Test
  void stalledPuts_areOvertakenWithinTheBudget() throws IOException {
    try (StallingServer server = new StallingServer();
        ThreadedExecution execution = new ThreadedExecution(new ThreadedExecution.Sizes(2, 1, 1));
        BlobStore remote = TestServer.at(server.endpoint(), "s3://bucket/job")) {
      BlobStore store =
          GuardedBlobStore.over(
              remote,
              // More than usual, for a machine that stalls by itself.
              new GuardedBlobStore.Context(execution, 0.1, Metrics.NONE),
              RequestListener.NONE);
      // The ones that stall are put if absent, which is attempted once: only a second request ends
      // them.
      for (int i = 0; i < PUTS; i++) {
        if (i % 2 == 0) {
          store.put("data/" + i, List.of(ByteBuffer.allocate(1_000)));
        } else {
          assertThat(store.putIfAbsent("slots/" + i, new byte[1_000])).isTrue();
        }
      }
      assertThat(server.requests.get()).isBetween(PUTS + PUTS / ONE_IN, PUTS + PUTS / 10 + 10);
    }
  }
}
