package io.alluvium.blobstore.s3;

import io.alluvium.config.Option;
import java.time.Duration;
import java.util.List;

/**
 * The options of object storage. There is none for credentials: those come from the SDK's provider
 * chain, and so never stand in a configuration file.
 */
final class S3Options {

  private static final Duration MILLISECOND = Duration.ofMillis(1);
  private static final Duration HOUR = Duration.ofHours(1);
  private static final long MB = 1L << 20;
  private static final long GB = 1L << 30;

  static final Option<String> ENDPOINT =
      Option.text(
          "s3.endpoint",
          "",
          "URL of a server that speaks the S3 protocol, for example 'http://localhost:9000'. Empty:"
              + " the region's endpoint of AWS.");

  static final Option<String> REGION =
      Option.text(
          "s3.region",
          "",
          "Region of the bucket, for example 'eu-central-1'. Empty: 'us-east-1' when an endpoint is"
              + " set, otherwise what the SDK finds (AWS_REGION, the profile, the instance).");

  static final Option<Boolean> PATH_STYLE =
      Option.bool(
          "s3.path-style-access",
          false,
          "Whether the bucket stands in the path of a request instead of in its host name; most"
              + " servers of your own need it.");

  static final Option<String> ENCRYPTION =
      Option.choice(
          "s3.sse",
          "none",
          List.of("none", "s3", "kms"),
          "Encryption that the store is asked for with each blob. none: whatever the bucket does by"
              + " itself. s3: keys of the store. kms: a key of the key management service.");

  static final Option<String> KMS_KEY =
      Option.text(
          "s3.sse.kms-key-id",
          "",
          "Id or ARN of the key for 's3.sse=kms'. Empty: the account's default key.");

  static final Option<Long> MULTIPART_THRESHOLD =
      Option.size(
          "s3.multipart.threshold",
          "16 mb",
          5 * MB,
          GB,
          "Files of this size and more are stored in parts, several at the same time.");

  static final Option<Long> PART_SIZE =
      Option.size(
          "s3.multipart.part-size",
          "8 mb",
          5 * MB,
          512 * MB,
          "Size of a part; greater for files that would need more than 10000 of them. Each part on"
              + " its way is held in memory.");

  static final Option<Integer> PARALLELISM =
      Option.integer(
          "s3.multipart.parallelism",
          4,
          1,
          64,
          "How many parts of all files of a process are on their way at the same time.");

  static final Option<Integer> CONNECTIONS =
      Option.integer(
          "s3.connection.maximum", 64, 1, 10_000, "How many connections a process opens at most.");

  static final Option<Duration> CONNECT_TIMEOUT =
      Option.duration(
          "s3.connection.timeout",
          "3s",
          MILLISECOND,
          HOUR,
          "How long opening a connection may take.");

  static final Option<Duration> ATTEMPT_TIMEOUT =
      Option.duration(
          "s3.request.attempt-timeout",
          "20s",
          MILLISECOND,
          HOUR,
          "How long one attempt of a request may take, the transfer of its bytes included; one that"
              + " sends much has a second more for every MB.");

  static final Option<Duration> TOTAL_TIMEOUT =
      Option.duration(
          "s3.request.timeout",
          "1m",
          MILLISECOND,
          HOUR,
          "How long a request may take with all its attempts, with as much more as for one attempt."
              + " Whoever asked is told then that the outcome is unknown, and decides whether to ask"
              + " again.");

  static final Option<Integer> MAX_ATTEMPTS =
      Option.integer(
          "s3.request.max-attempts",
          3,
          1,
          100,
          "How often a request is attempted, with a random and growing pause before each further"
              + " attempt. What must take effect at most once is attempted once.");

  static final List<Option<?>> ALL =
      List.of(
          ENDPOINT,
          REGION,
          PATH_STYLE,
          ENCRYPTION,
          KMS_KEY,
          MULTIPART_THRESHOLD,
          PART_SIZE,
          PARALLELISM,
          CONNECTIONS,
          CONNECT_TIMEOUT,
          ATTEMPT_TIMEOUT,
          TOTAL_TIMEOUT,
          MAX_ATTEMPTS);

  private S3Options() {}
}
