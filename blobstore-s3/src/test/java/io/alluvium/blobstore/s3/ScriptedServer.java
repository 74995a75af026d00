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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Gives its answers one after the other, the last one for ever, and notes the requests.
 * Thread-safe; serves one request at a time.
 */
final class ScriptedServer implements AutoCloseable {

  record Answer(int status, Map<String, String> headers, String body) {

    static Answer ok(String body) {
      return new Answer(200, Map.of("Content-Type", "application/xml"), body);
    }

    static Answer error(int status, String code, String message, Map<String, String> headers) {
      Map<String, String> all = new LinkedHashMap<>(headers);
      all.put("Content-Type", "application/xml");
      return new Answer(
          status,
          all,
          "<Error><Code>" + code + "</Code><Message>" + message + "</Message></Error>");
    }

    static Answer error(int status, String code) {
      return error(status, code, "because", Map.of());
    }
  }

  /**
   * @param headers the first value of each, by name in lower case
   */
  record Request(String method, String uri, Map<String, String> headers, byte[] body) {}

  private final HttpServer server;
  private final List<Answer> answers;
  private final List<Request> requests = new CopyOnWriteArrayList<>();

  ScriptedServer(Answer... answers) throws IOException {
    TestServer.setCredentials();
    this.answers = List.of(answers);
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::serve);
    server.start();
  }

  private void serve(HttpExchange exchange) throws IOException {
    try (exchange) {
      Map<String, String> headers = new LinkedHashMap<>();
      exchange
          .getRequestHeaders()
          .forEach((name, values) -> headers.put(name.toLowerCase(Locale.ROOT), values.get(0)));
      requests.add(
          new Request(
              exchange.getRequestMethod(),
              exchange.getRequestURI().toString(),
              headers,
              exchange.getRequestBody().readAllBytes()));
      Answer answer = answers.get(Math.min(requests.size(), answers.size()) - 1);
      byte[] body = answer.body.getBytes(UTF_8);
      answer.headers.forEach(exchange.getResponseHeaders()::set);
      boolean empty = body.length == 0 || exchange.getRequestMethod().equals("HEAD");
      exchange.sendResponseHeaders(answer.status, empty ? -1 : body.length);
      if (!empty) {
        exchange.getResponseBody().write(body);
      }
    }
  }

  /** The requests so far. */
  List<Request> requests() {
    return requests;
  }

  List<String> methods() {
    return requests.stream().map(Request::method).toList();
  }

  /** A store whose requests are attempted twice at most. */
  BlobStore store(Map<String, String> more) {
    Map<String, String> values = new LinkedHashMap<>();
    values.put("s3.endpoint", "http://127.0.0.1:" + server.getAddress().getPort());
    values.put("s3.path-style-access", "true");
    values.put("s3.request.max-attempts", "2");
    values.putAll(more);
    return new S3BlobStoreProvider()
        .open(URI.create("s3://bucket/job"), Configuration.of(values, S3Options.ALL));
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
