package io.alluvium.benchmarks;

import io.alluvium.spi.BlobStore;
import java.io.IOException;
import java.io.PrintStream;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Configuration;
import software.amazon.awssdk.services.s3.presigner.S3Presigner;

/**
 * How fast does a big file go up? The blob store's upload in parts, against plain clients on the
 * same server in turn: the SDK's client with one PUT, the SDK's own upload in parts, and one PUT of
 * the JDK's HTTP client that neither signs nor checks the bytes. Prints the median of each and the
 * store's share of the fastest.
 *
 * <p>Arguments: {@code docker} or the URL of a server, megabytes, rounds.
 */
public final class BigUpload {

  private static final String OURS = "blob store, in parts";

  private interface Upload {
    void run(String key) throws Exception;
  }

  /**
   * A way to upload.
   *
   * @param rates in megabytes per second, of each round
   */
  private record Way(String name, Upload upload, List<Double> rates) {
    Way(String name, Upload upload) {
      this(name, upload, new ArrayList<>());
    }
  }

  private BigUpload() {}

  public static void main(String[] args) throws Exception {
    PrintStream out = System.out;
    if (args.length != 3) {
      out.println("usage: BigUpload docker|URL MEGABYTES ROUNDS");
      System.exit(2);
    }
    int megabytes = Integer.parseInt(args[1]);
    int rounds = Integer.parseInt(args[2]);
    String directory = "upload-" + System.nanoTime();
    Scratch scratch = new Scratch();
    Path file = write(scratch.make().resolve("big.sst"), megabytes);
    try (S3Target target = S3Target.open(args[0]);
        BlobStore store = target.store(directory);
        S3AsyncClient plain = target.client().build();
        S3AsyncClient parts = target.client().multipartEnabled(true).build();
        S3Presigner presigner = presigner(target)) {
      HttpClient http = HttpClient.newHttpClient();
      List<Way> ways =
          List.of(
              new Way(OURS, key -> store.putFile(key, file)),
              new Way("SDK, one PUT", key -> put(target, plain, directory + "/" + key, file)),
              new Way("SDK, in parts", key -> put(target, parts, directory + "/" + key, file)),
              new Way(
                  "JDK, one PUT",
                  key -> put(target, presigner, http, directory + "/" + key, file)));
      // The first round warms up.
      for (int round = -1; round < rounds; round++) {
        List<Way> turn = new ArrayList<>(ways);
        Collections.rotate(turn, round);
        for (Way way : turn) {
          String key = "data/" + round;
          long start = System.nanoTime();
          way.upload.run(key);
          double rate = megabytes * 1e9 / (System.nanoTime() - start);
          if (round >= 0) {
            way.rates.add(rate);
          }
          store.delete(List.of(key));
        }
      }
      print(out, megabytes, ways);
    } finally {
      scratch.delete();
    }
  }

  private static Path write(Path file, int megabytes) throws IOException {
    byte[] bytes = new byte[1 << 20];
    Random random = new Random(1);
    try (var stream = Files.newOutputStream(file)) {
      for (int i = 0; i < megabytes; i++) {
        random.nextBytes(bytes);
        stream.write(bytes);
      }
    }
    return file;
  }

  private static S3Presigner presigner(S3Target target) {
    return S3Presigner.builder()
        .endpointOverride(target.endpoint())
        .region(Region.US_EAST_1)
        .serviceConfiguration(S3Configuration.builder().pathStyleAccessEnabled(true).build())
        .build();
  }

  private static void put(S3Target target, S3AsyncClient client, String key, Path file) {
    var unused =
        client
            .putObject(put -> put.bucket(target.bucket()).key(key), AsyncRequestBody.fromFile(file))
            .join();
  }

  private static void put(
      S3Target target, S3Presigner presigner, HttpClient http, String key, Path file)
      throws Exception {
    var presigned =
        presigner.presignPutObject(
            sign ->
                sign.signatureDuration(Duration.ofMinutes(10))
                    .putObjectRequest(put -> put.bucket(target.bucket()).key(key)));
    HttpRequest request =
        HttpRequest.newBuilder(presigned.url().toURI())
            .PUT(HttpRequest.BodyPublishers.ofFile(file))
            .build();
    int status = http.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
    if (status != 200) {
      throw new IOException("status " + status + " of " + key);
    }
  }

  private static void print(PrintStream out, int megabytes, List<Way> ways) {
    double ours = 0;
    double fastest = 0;
    for (Way way : ways) {
      double median = median(way.rates);
      if (way.name.equals(OURS)) {
        ours = median;
      } else {
        fastest = Math.max(fastest, median);
      }
      out.printf(
          Locale.ROOT,
          "%-22s %d MB at a median of %.0f MB/s (%.0f to %.0f)%n",
          way.name,
          megabytes,
          median,
          Collections.min(way.rates),
          Collections.max(way.rates));
    }
    out.printf(
        Locale.ROOT, "the blob store reaches %.2f of the fastest plain client%n", ours / fastest);
  }

  private static double median(List<Double> values) {
    List<Double> sorted = values.stream().sorted().toList();
    int middle = sorted.size() / 2;
    return sorted.size() % 2 == 1
        ? sorted.get(middle)
        : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
  }
}
