package io.alluvium.blobstore.s3;

import static org.assertj.core.api.Assertions.assertThat;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import io.alluvium.spi.BlobStore;
import io.alluvium.testkit.s3.FaultDecision;
import io.alluvium.testkit.s3.FaultPolicy;
import io.alluvium.testkit.s3.FaultProxy;
import io.alluvium.testkit.s3.S3Server;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Each request of an upload in parts suffers in turn. */
class PartsUploadFaultsTest {

  private static final int PARTS = 3;

  /** Begin, parts, complete. */
  private static final int REQUESTS = PARTS + 2;

  @TempDir Path directory;

  static Stream<Arguments> faults() {
    List<Arguments> all = new ArrayList<>();
    for (int number = 0; number < REQUESTS; number++) {
      for (FaultDecision decision :
          List.of(
              new FaultDecision.Lost(),
              new FaultDecision.AnswerLost(),
              new FaultDecision.Refused(503, "SlowDown"))) {
        all.add(Arguments.of(number, decision));
      }
    }
    return all.stream();
  }

  @ParameterizedTest
  @MethodSource("faults")
  void putFile_oneRequestSuffers_isAttemptedAgain(int number, FaultDecision decision)
      throws IOException {
    byte[] bytes = bytes();
    String uri = S3Server.freshUri();
    try (FaultProxy proxy = FaultProxy.before(S3Server.get().endpoint());
        BlobStore store = open(uri, proxy, 3)) {
      proxy.policy(request -> request.number() == number ? decision : FaultDecision.NONE);
      store.putFile("data/a", Files.write(directory.resolve("a.sst"), bytes));
      try (InputStream in = store.open("data/a", 0, bytes.length)) {
        assertThat(in.readAllBytes()).isEqualTo(bytes);
      }
      checkUploads(store, uri, number == 0 && decision instanceof FaultDecision.AnswerLost);
    }
  }

  @ParameterizedTest
  @MethodSource("faults")
  void putFile_oneRequestSuffers_withoutAttempts_failsAndLeavesNoParts(
      int number, FaultDecision decision) throws IOException {
    byte[] bytes = bytes();
    String uri = S3Server.freshUri();
    try (FaultProxy proxy = FaultProxy.before(S3Server.get().endpoint());
        BlobStore store = open(uri, proxy, 1)) {
      proxy.policy(request -> request.number() == number ? decision : FaultDecision.NONE);
      Path file = Files.write(directory.resolve("a.sst"), bytes);
      StateBackendException failure = null;
      try {
        store.putFile("data/a", file);
      } catch (StateBackendException e) {
        failure = e;
      }
      assertThat(failure).as("a fault").isNotNull();
      assertThat(failure.kind()).isEqualTo(Kind.UNAVAILABLE);
      proxy.policy(FaultPolicy.NONE);
      boolean completed = number == REQUESTS - 1 && decision instanceof FaultDecision.AnswerLost;
      assertThat(store.size("data/a").isPresent()).as("all or nothing").isEqualTo(completed);
      checkUploads(store, uri, number == 0 && decision instanceof FaultDecision.AnswerLost);

      store.putFile("data/a", file);
      assertThat(store.size("data/a")).hasValue(bytes.length);
    }
  }

  /** The second attempt of a part may overtake the first one, which arrives late. */
  @Test
  void putFile_aPartComesLate_isStoredOnce() throws IOException {
    byte[] bytes = bytes();
    String uri = S3Server.freshUri();
    try (FaultProxy proxy = FaultProxy.before(S3Server.get().endpoint());
        BlobStore store =
            TestServer.open(
                uri,
                Map.of(
                    "s3.endpoint", proxy.endpoint().toString(),
                    "s3.multipart.threshold", "5 mb",
                    "s3.multipart.part-size", "5 mb",
                    "s3.request.attempt-timeout", "1s"))) {
      proxy.policy(
          request ->
              request.number() == 2
                  ? new FaultDecision.Delayed(Duration.ofMillis(1_500))
                  : FaultDecision.NONE);
      store.putFile("data/a", Files.write(directory.resolve("a.sst"), bytes));
      try (InputStream in = store.open("data/a", 0, bytes.length)) {
        assertThat(in.readAllBytes()).isEqualTo(bytes);
      }
    }
  }

  /**
   * Nothing is left behind, except where nobody could know the upload: then it is found by looking.
   */
  private static void checkUploads(BlobStore store, String uri, boolean unknown) {
    assertThat(S3Server.get().unfinishedUploads(uri)).hasSize(unknown ? 1 : 0);
    store.deleteLeftovers(Duration.ZERO);
    assertThat(S3Server.get().unfinishedUploads(uri)).isEmpty();
  }

  private static BlobStore open(String uri, FaultProxy proxy, int attempts) {
    return TestServer.open(
        uri,
        Map.of(
            "s3.endpoint", proxy.endpoint().toString(),
            "s3.multipart.threshold", "5 mb",
            "s3.multipart.part-size", "5 mb",
            // So that each request of an upload has its number.
            "s3.multipart.parallelism", "1",
            "s3.request.max-attempts", Integer.toString(attempts)));
  }

  private static byte[] bytes() {
    byte[] bytes = new byte[11 << 20];
    new Random(1).nextBytes(bytes);
    return bytes;
  }
}
