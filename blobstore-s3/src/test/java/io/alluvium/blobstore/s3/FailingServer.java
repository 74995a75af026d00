package io.alluvium.blobstore.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.alluvium.config.Configuration;
import io.alluvium.spi.BlobStore;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** Answers every request with one error, and notes the requests. Thread-safe. */
final class FailingServer implements AutoCloseable {

  private final HttpServer server;
  private final List<String> requests = new CopyOnWriteArrayList<>();

  /**
   * @param code stands in the answer's XML, as S3 writes it
   */
  FailingServer(int status, String code, String message, Map<String, String> headers)
      throws IOException {
    TestServer.setCredentials();
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          requests.add(exchange.getRequestMethod());
          answer(exchange, status, code, message, headers);
        });
    server.start();
  }

  private static void answer(
      HttpExchange exchange, int status, String code, String message, Map<String, String> headers)
      throws IOException {
    try (exchange) {
      exchange.getRequestBody().readAllBytes();
      byte[] body =
          ("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>"
                  + code
                  + "</Code><Message>"
                  + message
                  + "</Message></Error>")
              .getBytes(UTF_8);
      headers.forEach(exchange.getResponseHeaders()::set);
      exchange.getResponseHeaders().set("Content-Type", "application/xml");
      exchange.sendResponseHeaders(status, body.length);
      exchange.getResponseBody().write(body);
    }
  }

  String endpoint() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  /** The methods of the requests so far. */
  List<String> requests() {
    return requests;
  }

  BlobStore store() {
    return new S3BlobStoreProvider()
        .open(
            URI.create("s3://bucket/job"),
            Configuration.of(
                Map.of(
                    "s3.endpoint",
                    endpoint(),
                    "s3.path-style-access",
                    "true",
                    "s3.request.max-attempts",
                    "2"),
                S3Options.ALL));
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
