package io.alluvium.blobstore.s3;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.blobstore.s3.ScriptedServer.Answer;
import io.alluvium.blobstore.s3.ScriptedServer.Request;
import io.alluvium.spi.BlobInfo;
import io.alluvium.spi.BlobStore;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What goes over the wire, and what becomes of unusual answers. */
class S3RequestsTest {

  @TempDir Path directory;

  @Test
  void put_sendsChecksumAndEncryption() throws IOException {
    try (ScriptedServer server = new ScriptedServer(Answer.ok(""));
        BlobStore store = server.store(Map.of("s3.sse", "kms", "s3.sse.kms-key-id", "key-1"))) {
      put(store, "123456789");

      Request request = server.requests().get(0);
      assertThat(request.uri()).startsWith("/bucket/job/data/a");
      assertThat(request.headers())
          // The check value of CRC32C, e3069283.
          .containsEntry("x-amz-checksum-crc32c", "4waSgw==")
          .containsEntry("x-amz-server-side-encryption", "aws:kms")
          .containsEntry("x-amz-server-side-encryption-aws-kms-key-id", "key-1")
          .doesNotContainKey("if-none-match");
    }
  }

  @Test
  void put_attemptedAgain_sendsTheSameBytes() throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(Answer.error(500, "InternalError"), Answer.ok(""));
        BlobStore store = server.store(Map.of())) {
      put(store, "123456789");

      assertThat(server.requests()).hasSize(2);
      assertThat(server.requests())
          .allSatisfy(request -> assertThat(request.body()).asString(UTF_8).contains("123456789"));
    }
  }

  @Test
  void putIfAbsent_sendsTheConditionAndOutlivesAConflict() throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(Answer.error(409, "ConditionalRequestConflict"), Answer.ok(""));
        BlobStore store = server.store(Map.of())) {
      assertThat(store.putIfAbsent("slots/1", new byte[] {1})).isTrue();
      assertThat(server.requests())
          .hasSize(2)
          .allSatisfy(request -> assertThat(request.headers()).containsEntry("if-none-match", "*"));
    }
  }

  @Test
  void list_severalPages_areOneList() throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(
                page("true", "job/data/a", "job/data/"), page("false", "job/data/b"));
        BlobStore store = server.store(Map.of())) {
      assertThat(store.list("data/"))
          .extracting(BlobInfo::name)
          .as("the folder that a console made is no blob")
          .containsExactly("data/a", "data/b");
      assertThat(server.requests().get(0).uri()).contains("prefix=job%2Fdata%2F");
      assertThat(server.requests().get(1).uri()).contains("continuation-token=next");
    }
  }

  private static Answer page(String truncated, String... keys) {
    StringBuilder body = new StringBuilder("<ListBucketResult><IsTruncated>");
    body.append(truncated).append("</IsTruncated>");
    body.append("<NextContinuationToken>next</NextContinuationToken>");
    for (String key : keys) {
      body.append("<Contents><Key>").append(key).append("</Key><Size>1</Size>");
      body.append("<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>");
    }
    return Answer.ok(body.append("</ListBucketResult>").toString());
  }

  @Test
  void delete_manyNames_areBatchesOfAThousand() throws IOException {
    try (ScriptedServer server = new ScriptedServer(Answer.ok("<DeleteResult/>"));
        BlobStore store = server.store(Map.of())) {
      store.delete(IntStream.range(0, 2_001).mapToObj(i -> "data/" + i).toList());
      assertThat(server.methods()).containsExactly("POST", "POST", "POST");
      assertThat(new String(server.requests().get(2).body(), UTF_8)).contains("job/data/2000");
    }
  }

  @Test
  void delete_someKeysFail_namesTheFirst() throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(
                Answer.ok(
                    "<DeleteResult><Error><Key>job/data/b</Key><Code>InternalError</Code>"
                        + "<Message>oops</Message></Error></DeleteResult>"));
        BlobStore store = server.store(Map.of())) {
      expect(
          Kind.UNAVAILABLE,
          () -> store.delete(List.of("data/a", "data/b")),
          "cannot delete 1 of 2 blobs",
          "job/data/b",
          "InternalError");
    }
  }

  @Test
  void open_answerIsAnotherRange_isUnavailable() throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(new Answer(206, Map.of("Content-Range", "bytes 0-3/10"), "abcd"));
        BlobStore store = server.store(Map.of())) {
      expect(Kind.UNAVAILABLE, () -> store.read("data/a", 4, 4), "data/a", "bytes 0-3/10");
    }
  }

  @Test
  void read_bytesThatDoNotFitTheirChecksum_areRefused() throws IOException {
    Map<String, String> headers =
        Map.of("Content-Range", "bytes 0-8/9", "x-amz-checksum-crc32c", "4waSgw==");
    try (ScriptedServer server =
            new ScriptedServer(
                new Answer(206, headers, "123456789"), new Answer(206, headers, "123456780"));
        BlobStore store = server.store(Map.of())) {
      assertThat(store.read("data/a", 0, 9)).asString(UTF_8).isEqualTo("123456789");
      assertThat(server.requests().get(0).headers())
          .containsEntry("x-amz-checksum-mode", "ENABLED");
      expect(Kind.UNAVAILABLE, () -> store.read("data/a", 0, 9), "data/a", "checksum");
    }
  }

  @Test
  void deleteLeftovers_serverThatListsNoPrefixes_asksForAllAndTakesItsOwn() throws IOException {
    try (ScriptedServer server =
            new ScriptedServer(
                uploads(), uploads("other/data/a", "job/data/a"), new Answer(204, Map.of(), ""));
        BlobStore store = server.store(Map.of())) {
      store.deleteLeftovers(Duration.ZERO);
      assertThat(server.methods()).containsExactly("GET", "GET", "DELETE");
      assertThat(server.requests().get(0).uri()).contains("prefix=job%2F");
      assertThat(server.requests().get(1).uri()).doesNotContain("job");
      assertThat(server.requests().get(2).uri()).contains("/bucket/job/data/a", "uploadId=id");
    }
  }

  private static Answer uploads(String... keys) {
    StringBuilder body = new StringBuilder("<ListMultipartUploadsResult>");
    for (String key : keys) {
      body.append("<Upload><Key>").append(key).append("</Key><UploadId>id</UploadId>");
      body.append("<Initiated>2026-01-01T00:00:00.000Z</Initiated></Upload>");
    }
    return Answer.ok(body.append("</ListMultipartUploadsResult>").toString());
  }

  @Test
  void putFile_partRefused_abortsTheUpload() throws IOException {
    try (ScriptedServer server = new ScriptedServer(upload(), Answer.error(403, "AccessDenied"));
        BlobStore store = server.store(withOnePartAtATime())) {
      expect(Kind.INVALID, () -> store.putFile("data/a", bigFile()), "data/a", "access is denied");
      assertThat(server.methods()).startsWith("POST", "PUT").endsWith("DELETE");
      assertThat(server.requests().get(server.requests().size() - 1).uri()).contains("uploadId=id");
    }
  }

  @Test
  void putFile_paced_asksBeforeEachPartAndStopsWhenToldTo() throws IOException {
    List<Long> asked = new ArrayList<>();
    Answer part = new Answer(200, Map.of("ETag", "tag"), "");
    try (ScriptedServer server = new ScriptedServer(upload(), part, new Answer(204, Map.of(), ""));
        BlobStore store = server.store(withOnePartAtATime())) {
      expect(
          Kind.CLOSED,
          () ->
              store.putFile(
                  "data/a",
                  bigFile(),
                  bytes -> {
                    asked.add(bytes);
                    if (asked.size() == 2) {
                      throw StateBackendException.closed("enough");
                    }
                  }),
          "enough");
      assertThat(asked).containsExactly(5L << 20, 1L << 20);
      // No upload in parts stays behind.
      assertThat(server.methods()).startsWith("POST").endsWith("DELETE");
    }
  }

  @Test
  void putFile_answerToTheCompletionLost_isStored() throws IOException {
    Answer part = new Answer(200, Map.of("ETag", "tag"), "");
    Answer head = new Answer(200, Map.of("Content-Length", "6291456"), "");
    try (ScriptedServer server =
            new ScriptedServer(upload(), part, part, Answer.error(404, "NoSuchUpload"), head);
        BlobStore store = server.store(withOnePartAtATime())) {
      store.putFile("data/a", bigFile());
      assertThat(server.methods()).containsExactly("POST", "PUT", "PUT", "POST", "HEAD");
    }
  }

  private static Answer upload() {
    return Answer.ok(
        "<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>");
  }

  private static Map<String, String> withOnePartAtATime() {
    return Map.of(
        "s3.multipart.threshold", "5 mb",
        "s3.multipart.part-size", "5 mb",
        "s3.multipart.parallelism", "1");
  }

  /** Of two parts. */
  private Path bigFile() throws IOException {
    return Files.write(directory.resolve("big.sst"), new byte[6 << 20]);
  }

  private static void put(BlobStore store, String text) {
    store.put(
        "data/a",
        List.of(
            ByteBuffer.wrap(text.substring(0, 4).getBytes(UTF_8)),
            ByteBuffer.wrap(text.substring(4).getBytes(UTF_8))));
  }

  private static void expect(Kind kind, ThrowingCallable call, String... parts) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            StateBackendException.class,
            e -> {
              assertThat(e.kind()).as(e.getMessage()).isEqualTo(kind);
              assertThat(e.getMessage()).contains(parts);
            });
  }
}
