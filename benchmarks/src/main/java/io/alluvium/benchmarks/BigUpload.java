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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Configuration;
import software.amazon.awssdk.services.s3.presigner.S3Presigner;

/**
 * Measures the upload rate of a big file. Compares the multipart upload of the blob store with
 * plain clients on the same server, in turn. These are one PUT of the SDK, the multipart upload of
 * the SDK, and one PUT of the JDK's HTTP client, which neither signs nor checks the bytes. Prints
 * the median of each and the store's rate relative to the fastest plain client.
 *
 * <p>Arguments: {@code docker} or the URL of a server, megabytes, rounds, and any number of part
 * sizes of the store in megabytes to compare (none: the default size).
 */
public final class BigUpload {

  private interface Upload {
    void run(String key) throws Exception;
  }

  /**
   * One kind of upload.
   *
   * @param plain whether it is a plain client, with which the store is compared
   * @param rates in megabytes per second, one per round
   */
  private record Way(String name, boolean plain, Upload upload, List<Double> rates) {
    static Way ofStore(String name, BlobStore store, Path file) {
      return new Way(name, false, key -> store.putFile(key, file), new ArrayList<>());
    }

    static Way plain(String name, Upload upload) {
      return new Way(name, true, upload, new ArrayList<>());
    }

    double median() {
      List<Double> sorted = rates.stream().sorted().toList();
      int middle = sorted.size() / 2;
      return sorted.size() % 2 == 1
          ? sorted.get(middle)
          : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }
  }

  private BigUpload() {}

  public static void main(String[] args) throws Exception {
    PrintStream out = System.out;
    if (args.length < 3) {
      out.println("usage: BigUpload docker|URL MEGABYTES ROUNDS [MEGABYTES_OF_A_PART...]");
      System.exit(2);
    }
    int megabytes = Integer.parseInt(args[1]);
    int rounds = Integer.parseInt(args[2]);
    List<String> sizes = List.of(args).subList(3, args.length);
    String directory = "upload-" + System.nanoTime();
    Scratch scratch = new Scratch();
    Path file = write(scratch.make().resolve("big.sst"), megabytes);
    try (S3Target target = S3Target.open(args[0]);
        S3AsyncClient plain = target.client().build();
        S3AsyncClient parts = target.client().multipartEnabled(true).build();
        S3Presigner presigner = presigner(target)) {
      HttpClient http = HttpClient.newHttpClient();
      Map<String, BlobStore> stores = stores(target, directory, sizes);
      List<Way> ways = new ArrayList<>();
      stores.forEach((name, store) -> ways.add(Way.ofStore(name, store, file)));
      ways.add(Way.plain("SDK, one PUT", key -> put(target, plain, directory + "/" + key, file)));
      ways.add(Way.plain("SDK, in parts", key -> put(target, parts, directory + "/" + key, file)));
      ways.add(
          Way.plain(
              "JDK, one PUT", key -> put(target, presigner, http, directory + "/" + key, file)));
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
          stores.values().iterator().next().delete(List.of(key));
        }
      }
      stores.values().forEach(BlobStore::close);
      print(out, megabytes, ways);
    } finally {
      scratch.delete();
    }
  }

  /** Blob stores by the name of their part size. */
  private static Map<String, BlobStore> stores(
      S3Target target, String directory, List<String> sizes) {
    Map<String, BlobStore> stores = new LinkedHashMap<>();
    if (sizes.isEmpty()) {
      stores.put("blob store", target.store(directory, Map.of()));
    }
    for (String size : sizes) {
      stores.put(
          "blob store, " + size + " MB",
          target.store(directory, Map.of("s3.multipart.part-size", size + " mb")));
    }
    return stores;
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
    double fastest = ways.stream().filter(Way::plain).mapToDouble(Way::median).max().orElseThrow();
    for (Way way : ways) {
      out.printf(
          Locale.ROOT,
          "%-22s %d MB at a median of %.0f MB/s (%.0f to %.0f)%s%n",
          way.name,
          megabytes,
          way.median(),
          Collections.min(way.rates),
          Collections.max(way.rates),
          way.plain
              ? ""
              : String.format(
                  Locale.ROOT, ", %.2f of the fastest plain client", way.median() / fastest));
    }
  }
}
