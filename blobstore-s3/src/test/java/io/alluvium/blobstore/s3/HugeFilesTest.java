package io.alluvium.blobstore.s3;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.alluvium.spi.BlobStore;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Base64;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** A file with more bytes than an int can count, in parts, to a server that only checks them. */
class HugeFilesTest {

  private static final long SIZE = 2_300_000_007L;
  private static final long MARK_AT = (1L << 31) + 5;

  @TempDir Path directory;

  /** Keeps lengths and checks checksums; what is read is zero except for the mark. */
  private static final class CheckingServer implements AutoCloseable {
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final ConcurrentMap<Integer, Long> parts = new ConcurrentHashMap<>();
    private final HttpServer server;

    private CheckingServer() throws IOException {
      TestServer.setCredentials();
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      server.setExecutor(threads);
      server.createContext("/", this::serve);
      server.start();
    }

    private void serve(HttpExchange exchange) throws IOException {
      try (exchange) {
        String query = String.valueOf(exchange.getRequestURI().getQuery());
        switch (exchange.getRequestMethod()) {
          case "PUT" -> part(exchange, query);
          case "POST" ->
              answer(
                  exchange,
                  query.startsWith("uploads")
                      ? "<InitiateMultipartUploadResult><UploadId>7</UploadId>"
                          + "</InitiateMultipartUploadResult>"
                      : "<CompleteMultipartUploadResult><ETag>\"e\"</ETag>"
                          + "</CompleteMultipartUploadResult>");
          default -> range(exchange);
        }
      }
    }

    private void part(HttpExchange exchange, String query) throws IOException {
      CRC32C crc = new CRC32C();
      byte[] buffer = new byte[1 << 16];
      long length = 0;
      InputStream in = exchange.getRequestBody();
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        crc.update(buffer, 0, count);
        length += count;
      }
      String checksum =
          Base64.getEncoder()
              .encodeToString(ByteBuffer.allocate(4).putInt((int) crc.getValue()).array());
      if (!checksum.equals(exchange.getRequestHeaders().getFirst("x-amz-checksum-crc32c"))) {
        exchange.sendResponseHeaders(400, -1);
        return;
      }
      int number = Integer.parseInt(query.replaceAll(".*partNumber=(\\d+).*", "$1"));
      parts.put(number, length);
      exchange.getResponseHeaders().set("ETag", "\"" + number + "\"");
      exchange.sendResponseHeaders(200, -1);
    }

    private static void answer(HttpExchange exchange, String xml) throws IOException {
      int unused = exchange.getRequestBody().readAllBytes().length;
      byte[] body = xml.getBytes(UTF_8);
      exchange.getResponseHeaders().set("Content-Type", "application/xml");
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
    }

    private static void range(HttpExchange exchange) throws IOException {
      String[] range =
          exchange.getRequestHeaders().getFirst("Range").replace("bytes=", "").split("-", 2);
      long from = Long.parseLong(range[0]);
      int length = Math.toIntExact(Math.min(SIZE - 1, Long.parseLong(range[1])) - from + 1);
      byte[] body = new byte[length];
      if (from <= MARK_AT && MARK_AT < from + length) {
        body[Math.toIntExact(MARK_AT - from)] = 42;
      }
      exchange
          .getResponseHeaders()
          .set("Content-Range", "bytes " + from + "-" + (from + length - 1) + "/" + SIZE);
      exchange.sendResponseHeaders(206, length);
      exchange.getResponseBody().write(body);
    }

    @Override
    public void close() {
      server.stop(0);
      threads.shutdownNow();
    }
  }

  @Test
  @EnabledIfSystemProperty(
      named = "alluvium.full",
      matches = "true",
      disabledReason = "sends and checks gigabytes; run with -Pfull")
  void putFile_above2Gb_sendsAllOfItAndReadsBeyond2Gb() throws IOException {
    Path file = directory.resolve("huge.sst");
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      int unused = channel.write(ByteBuffer.wrap(new byte[1]), SIZE - 1);
    }
    try (CheckingServer server = new CheckingServer();
        BlobStore store =
            TestServer.at(
                "http://127.0.0.1:" + server.server.getAddress().getPort(), "s3://bucket/job")) {
      store.putFile("data/huge.table", file);
      assertThat(server.parts.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(SIZE);
      try (InputStream in = store.open("data/huge.table", MARK_AT - 1, SIZE)) {
        assertThat(in.readNBytes(3)).containsExactly(0, 42, 0);
        in.skipNBytes(SIZE - MARK_AT - 2);
        assertThat(in.read()).isEqualTo(-1);
      }
    }
  }
}
