package io.alluvium.blobstore.s3;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.alluvium.StateBackendException;
import io.alluvium.spi.BlobStore;
import io.alluvium.spi.Pace;
import io.alluvium.testkit.s3.S3Server;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import software.amazon.awssdk.services.s3.S3AsyncClient;

class PartsUploadTest {

  private static final int MB = 1 << 20;
  private static final Map<String, String> SMALL_PARTS =
      Map.of("s3.multipart.threshold", "5 mb", "s3.multipart.part-size", "5 mb");

  private static final S3AsyncClient CLIENT = TestServer.client();

  @TempDir Path directory;
  private final String uri = TestServer.freshUri();
  private final String prefix = uri.substring(("s3://" + TestServer.BUCKET + "/").length()) + "/";

  @AfterAll
  static void closeClient() {
    CLIENT.close();
  }

  @Test
  void putFile_aboveTheThreshold_readsBackAndLeavesNoUpload() throws IOException {
    byte[] bytes = new byte[11 * MB + 17];
    new Random(1).nextBytes(bytes);
    Path file = Files.write(directory.resolve("big.sst"), bytes);
    try (BlobStore store = TestServer.open(uri, SMALL_PARTS)) {
      store.putFile("data/big.table", file);

      assertThat(store.size("data/big.table")).hasValue(bytes.length);
      try (InputStream in = store.open("data/big.table", 0, bytes.length)) {
        assertThat(in.readAllBytes()).isEqualTo(bytes);
      }
      try (InputStream in = store.open("data/big.table", 3, Long.MAX_VALUE)) {
        assertThat(in.skip(5 * MB)).isEqualTo(5 * MB);
        assertThat(in.readAllBytes()).hasSize(6 * MB + 14);
      }
    }
    assertThat(
            CLIENT
                .headObject(b -> b.bucket(TestServer.BUCKET).key(prefix + "data/big.table"))
                .join()
                .eTag())
        .as("the tag of an object that was stored in three parts")
        .contains("-3");
    assertThat(unfinished()).isEmpty();
  }

  @Test
  void run_fileShorterThanSaid_failsAndLeavesNoUpload() throws IOException {
    Path file = Files.write(directory.resolve("short.sst"), new byte[7 * MB]);
    S3Location location = S3Location.parse(URI.create(uri));
    try (S3Connection connection =
        S3Connection.open(S3Settings.of(location, TestServer.configuration(SMALL_PARTS)))) {
      Semaphore permits = new Semaphore(2);
      PartsUpload upload = new PartsUpload(connection, permits, "data/short.table", file, 12 * MB);

      assertThatThrownBy(() -> upload.run(Pace.NONE))
          .isInstanceOf(StateBackendException.class)
          .hasMessageContaining("data/short.table")
          .hasNoSuppressedExceptions();

      assertThat(unfinished()).isEmpty();
    }
    try (BlobStore store = TestServer.open(uri, SMALL_PARTS)) {
      assertThat(store.list("")).isEmpty();
    }
  }

  @Test
  void putFile_endsInAnError_leavesNoUpload() throws IOException {
    Path file = Files.write(directory.resolve("big.sst"), new byte[11 * MB]);
    AtomicInteger parts = new AtomicInteger();
    try (BlobStore store = TestServer.open(uri, SMALL_PARTS)) {
      assertThatThrownBy(
              () ->
                  store.putFile(
                      "data/big.table",
                      file,
                      bytes -> {
                        if (parts.incrementAndGet() == 3) {
                          throw new OutOfMemoryError("test");
                        }
                      }))
          .isInstanceOf(OutOfMemoryError.class);
      assertThat(unfinished()).isEmpty();
      assertThat(store.list("")).isEmpty();
    }
  }

  @Test
  void deleteLeftovers_abortsWhatIsOldEnoughBelowThePrefix() {
    begin(prefix + "data/mine");
    begin("test/elsewhere/data/foreign");
    try (BlobStore store = TestServer.open(uri, Map.of())) {
      store.deleteLeftovers(Duration.ofHours(1));
      assertThat(unfinished()).containsExactly("data/mine");

      store.deleteLeftovers(Duration.ZERO);
      assertThat(unfinished()).isEmpty();
      assertThat(S3Server.get().unfinishedUploads("s3://" + TestServer.BUCKET + "/test/elsewhere"))
          .isNotEmpty();
    }
  }

  private void begin(String key) {
    var unused = CLIENT.createMultipartUpload(b -> b.bucket(TestServer.BUCKET).key(key)).join();
  }

  private List<String> unfinished() {
    return S3Server.get().unfinishedUploads(uri);
  }
}
