package io.alluvium.testkit.s3;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FaultProxyTest {

  private static final Duration LATE = Duration.ofMillis(400);

  private final List<String> served = new CopyOnWriteArrayList<>();
  private final HttpClient client = HttpClient.newHttpClient();
  private HttpServer server;
  private FaultProxy proxy;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(
        Executors.newCachedThreadPool(
            task -> {
              Thread thread = new Thread(task);
              thread.setDaemon(true);
              return thread;
            }));
    server.createContext("/", this::echo);
    server.start();
    proxy = FaultProxy.before(URI.create("http://127.0.0.1:" + server.getAddress().getPort()));
  }

  @AfterEach
  void stop() {
    proxy.close();
    server.stop(0);
  }

  private void echo(HttpExchange exchange) throws IOException {
    try (exchange) {
      served.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
      byte[] body = exchange.getRequestBody().readAllBytes();
      exchange.getResponseHeaders().set("Host-Seen", exchange.getRequestHeaders().getFirst("Host"));
      if (exchange.getRequestMethod().equals("HEAD")) {
        exchange.getResponseHeaders().set("Content-Length", "77");
        exchange.sendResponseHeaders(200, -1);
      } else {
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
      }
    }
  }

  @Test
  void noFaults_hostTargetAndBody_areForwardedUnchanged() throws Exception {
    byte[] bytes = new byte[3 << 20];
    new Random(1).nextBytes(bytes);
    HttpResponse<byte[]> answer = send("PUT", "/a%20b?x=%2F", bytes);
    assertThat(answer.body()).isEqualTo(bytes);
    assertThat(answer.headers().firstValue("Host-Seen")).hasValue(proxy.endpoint().getAuthority());
    assertThat(served).containsExactly("PUT /a%20b?x=%2F");
    assertThat(send("HEAD", "/h", new byte[0]).headers().firstValue("Content-Length"))
        .hasValue("77");
    assertThat(proxy.requestsByMethod()).isEqualTo(Map.of("PUT", 1, "HEAD", 1));
  }

  @Test
  void lost_request_isNotForwarded() {
    proxy.policy(request -> new FaultDecision.Lost());
    assertThatThrownBy(() -> send("PUT", "/lost", new byte[9])).isInstanceOf(IOException.class);
    assertThat(served).isEmpty();
  }

  @Test
  void answerLost_request_takesEffect() throws Exception {
    proxy.policy(
        request -> request.number() == 0 ? new FaultDecision.AnswerLost() : FaultDecision.NONE);
    assertThatThrownBy(() -> send("PUT", "/a", new byte[9])).isInstanceOf(IOException.class);
    assertThat(served).containsExactly("PUT /a");
    assertThat(send("PUT", "/b", new byte[9]).statusCode()).isEqualTo(200);
  }

  @Test
  void refused_request_getsAnS3Error() throws Exception {
    proxy.policy(request -> new FaultDecision.Refused(503, "SlowDown"));
    HttpResponse<byte[]> answer = send("PUT", "/a", new byte[9]);
    assertThat(answer.statusCode()).isEqualTo(503);
    assertThat(new String(answer.body(), java.nio.charset.StandardCharsets.UTF_8))
        .contains("<Code>SlowDown</Code>");
    assertThat(served).isEmpty();
  }

  @Test
  void delayed_clientTimedOut_requestIsForwarded() throws Exception {
    proxy.policy(request -> new FaultDecision.Delayed(LATE));
    boolean proven = false;
    for (int attempt = 0; !proven; attempt++) {
      assertThat(attempt).as("attempts on a slow machine").isLessThan(10);
      proven = isForwardedAfterTimeout("/late" + attempt);
    }
  }

  /** Returns false if the machine was too slow to decide. */
  private boolean isForwardedAfterTimeout(String target) throws Exception {
    int requestsBefore = proxy.requests();
    HttpRequest request =
        HttpRequest.newBuilder(proxy.endpoint().resolve(target))
            .timeout(LATE.dividedBy(4))
            .PUT(HttpRequest.BodyPublishers.ofByteArray(new byte[9]))
            .build();
    long start = System.nanoTime();
    Throwable failure =
        catchThrowable(() -> client.send(request, HttpResponse.BodyHandlers.ofByteArray()));
    boolean arrived = served.contains("PUT " + target);
    if (System.nanoTime() - start >= LATE.toNanos()) {
      return false;
    }
    assertThat(failure).isInstanceOf(IOException.class);
    assertThat(arrived).isFalse();
    for (int i = 0; !served.contains("PUT " + target) && i < 500; i++) {
      Thread.sleep(10);
    }
    if (proxy.requests() == requestsBefore) {
      // The client timed out before it sent the request.
      return false;
    }
    assertThat(served).containsOnlyOnce("PUT " + target);
    return true;
  }

  @Test
  void answeredLate_answer_isDelayed() throws Exception {
    proxy.policy(request -> new FaultDecision.AnsweredLate(Duration.ofMillis(200)));
    long start = System.nanoTime();
    assertThat(send("PUT", "/a", new byte[9]).statusCode()).isEqualTo(200);
    assertThat(System.nanoTime() - start).isGreaterThan(Duration.ofMillis(200).toNanos());
  }

  @Test
  void outage_connections_areResetUntilItEnds() throws Exception {
    assertThat(send("PUT", "/a", new byte[9]).statusCode()).isEqualTo(200);
    proxy.startOutage();
    assertThatThrownBy(() -> send("PUT", "/b", new byte[9])).isInstanceOf(IOException.class);
    assertThatThrownBy(() -> send("PUT", "/b", new byte[9])).isInstanceOf(IOException.class);
    proxy.endOutage();
    assertThat(send("PUT", "/c", new byte[9]).statusCode()).isEqualTo(200);
    assertThat(served).containsExactly("PUT /a", "PUT /c");
  }

  @Test
  void seeded_sameSeed_givesSameDecisionsOfAllKinds() {
    FaultPolicy.Profile profile =
        new FaultPolicy.Profile(
            Duration.ofMillis(2), 0.5, 0.05, Duration.ofSeconds(2), 0.05, 0.02, 3);
    List<FaultDecision> first = decisions(7, profile);
    assertThat(first).isEqualTo(decisions(7, profile)).isNotEqualTo(decisions(8, profile));
    for (Class<? extends FaultDecision> kind :
        List.of(
            FaultDecision.Delayed.class,
            FaultDecision.AnsweredLate.class,
            FaultDecision.Refused.class,
            FaultDecision.Lost.class,
            FaultDecision.AnswerLost.class)) {
      assertThat(first).hasAtLeastOneElementOfType(kind);
    }
    long[] delays =
        first.stream()
            .filter(FaultDecision.Delayed.class::isInstance)
            .mapToLong(decision -> ((FaultDecision.Delayed) decision).by().toNanos())
            .sorted()
            .toArray();
    assertThat(delays[delays.length / 2]).isBetween(1_800_000L, 2_300_000L);
    assertThat(Arrays.stream(delays).filter(delay -> delay == 2_000_000_000L).count())
        .isBetween(20L, 80L);
  }

  private static List<FaultDecision> decisions(long seed, FaultPolicy.Profile profile) {
    FaultPolicy policy = FaultPolicy.seeded(seed, profile);
    return IntStream.range(0, 2_000)
        .mapToObj(number -> policy.decide(new FaultPolicy.Request(number, "PUT", "/")))
        .toList();
  }

  private HttpResponse<byte[]> send(String method, String target, byte[] body) throws Exception {
    return client.send(
        HttpRequest.newBuilder(URI.create(proxy.endpoint() + target))
            .method(method, HttpRequest.BodyPublishers.ofByteArray(body))
            .timeout(Duration.ofSeconds(20))
            .build(),
        HttpResponse.BodyHandlers.ofByteArray());
  }
}
