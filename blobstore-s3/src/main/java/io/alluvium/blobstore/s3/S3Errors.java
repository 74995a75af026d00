package io.alluvium.blobstore.s3;

import io.alluvium.StateBackendException;
import io.alluvium.StateBackendException.Kind;
import java.io.IOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.awscore.exception.AwsErrorDetails;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.exception.ApiCallAttemptTimeoutException;
import software.amazon.awssdk.core.exception.ApiCallTimeoutException;

/**
 * Says in one sentence what the store or the SDK complained about and what to do, and which kind of
 * failure it is. Immutable.
 */
final class S3Errors {

  /*
   * INVALID is what only a person can put right: a missing bucket, a wrong region, missing rights. What passes by itself
   * or by renewing something from outside while the job waits, is UNAVAILABLE: an expired token, a clock, throttling. So
   * is everything else whose outcome is not known.
   */

  private final S3Settings settings;

  S3Errors(S3Settings settings) {
    this.settings = settings;
  }

  /** What failed, without the wrappers of futures. */
  static Throwable unwrap(Throwable failure) {
    Throwable inner = failure;
    while ((inner instanceof CompletionException || inner instanceof ExecutionException)
        && inner.getCause() != null) {
      inner = inner.getCause();
    }
    return inner;
  }

  /** The error code that the store answered with; empty when there is none. */
  static String codeOf(Throwable failure) {
    if (failure instanceof AwsServiceException answer) {
      @Nullable AwsErrorDetails details = answer.awsErrorDetails();
      return details == null || details.errorCode() == null ? "" : details.errorCode();
    }
    return "";
  }

  /**
   * Translates a failure.
   *
   * @param doing completes "cannot ...", for example {@code store blob 'x'}
   */
  StateBackendException of(Throwable failure, String doing) {
    Throwable inner = unwrap(failure);
    if (inner instanceof StateBackendException known) {
      return known;
    }
    Reason reason = inner instanceof AwsServiceException answer ? answered(answer) : local(inner);
    return StateBackendException.of(
        reason.kind,
        "cannot " + doing + " in '" + settings.location().uri() + "': " + reason.sentence,
        inner);
  }

  /** The server does not know If-None-Match. */
  StateBackendException noConditionalPut(Throwable failure) {
    return StateBackendException.of(
        Kind.INVALID,
        "the server at "
            + settings.endpointText()
            + " cannot store a blob only if it is absent (If-None-Match), so that two processes could own the job in '"
            + settings.location().uri()
            + "' at once; use a newer version of that server, or set alluvium.fencing=none and see to it that never"
            + " two processes run the job",
        failure);
  }

  private record Reason(Kind kind, String sentence) {}

  private static Reason invalid(String sentence) {
    return new Reason(Kind.INVALID, sentence);
  }

  private static Reason unavailable(String sentence) {
    return new Reason(Kind.UNAVAILABLE, sentence);
  }

  private Reason answered(AwsServiceException answer) {
    return switch (codeOf(answer)) {
      case "NoSuchBucket" ->
          invalid(
              "there is no bucket '"
                  + settings.location().bucket()
                  + "' at "
                  + settings.endpointText()
                  + "; create it, or correct the URI");
      case "AccessDenied", "AllAccessDisabled", "AccountProblem" -> denied();
      case "InvalidAccessKeyId", "SignatureDoesNotMatch" ->
          invalid(
              settings.endpointText()
                  + " does not accept the access key or its secret; correct the credentials that the"
                  + " SDK's provider chain finds (environment, profile, role)");
      case "ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired" ->
          unavailable(
              "the session token has expired or is no longer valid; renew the credentials where the"
                  + " SDK's provider chain finds them (environment, profile, role)");
      case "RequestTimeTooSkewed", "RequestExpired" ->
          unavailable(
              "the clock of this machine differs too much from the store's; set it right, for"
                  + " example with NTP");
      case "PermanentRedirect",
          "TemporaryRedirect",
          "Redirect",
          "AuthorizationHeaderMalformed",
          "IllegalLocationConstraintException" ->
          wrongRegion(answer);
      case "SlowDown", "RequestLimitExceeded", "TooManyRequests", "BandwidthLimitExceeded" ->
          throttled();
      case "BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch" ->
          unavailable("the bytes arrived damaged, so that the store refused them; try again");
      // With status 400, although nothing is wrong with the request.
      case "RequestTimeout", "RequestTimeoutException", "IncompleteBody" ->
          unavailable("the bytes did not arrive in time or not all of them; try again");
      case "NoSuchUpload" ->
          unavailable("the upload in parts was aborted by somebody else; try again");
      case "NotImplemented" ->
          invalid(
              settings.endpointText()
                  + " does not know a part of the S3 protocol that is needed ("
                  + text(answer)
                  + "); use a newer version of that server");
      default -> byStatus(answer);
    };
  }

  private Reason byStatus(AwsServiceException answer) {
    String code = codeOf(answer);
    if (code.startsWith("KMS.")) {
      return invalid(
          "the encryption key cannot be used ("
              + text(answer)
              + "); correct 's3.sse.kms-key-id' or the key's policy");
    }
    int status = answer.statusCode();
    if (status == 301 || status == 307) {
      return wrongRegion(answer);
    }
    if (status == 401 || status == 403) {
      return denied();
    }
    if (status == 429 || status == 503 || answer.isThrottlingException()) {
      return throttled();
    }
    if (status >= 500 || status == 408 || status == 409) {
      return unavailable("the store failed (" + text(answer) + "); try again");
    }
    return invalid("the store refused the request (" + text(answer) + ")");
  }

  private Reason denied() {
    return invalid(
        "access is denied; allow these credentials s3:ListBucket and"
            + " s3:ListBucketMultipartUploads on the bucket '"
            + settings.location().bucket()
            + "', and s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload on '"
            + settings.location().keyOf("*")
            + "' in it");
  }

  private Reason wrongRegion(AwsServiceException answer) {
    Optional<String> right = regionOf(answer);
    return invalid(
        "the bucket '"
            + settings.location().bucket()
            + "' is in "
            + right.map(region -> "the region '" + region + "'").orElse("another region")
            + settings
                .service()
                .region()
                .map(region -> ", not in '" + region + "'")
                .orElse(" than the one that requests go to")
            + "; set s3.region="
            + right.orElse("<the bucket's region>"));
  }

  /** Stands in a header, or in the text: "... the region 'a' is wrong; expecting 'b'". */
  private static Optional<String> regionOf(AwsServiceException answer) {
    @Nullable AwsErrorDetails details = answer.awsErrorDetails();
    if (details == null) {
      return Optional.empty();
    }
    Optional<String> header =
        Optional.ofNullable(details.sdkHttpResponse())
            .flatMap(response -> response.firstMatchingHeader("x-amz-bucket-region"));
    String message = details.errorMessage() == null ? "" : details.errorMessage();
    int expecting = message.indexOf("expecting '");
    int end = expecting < 0 ? -1 : message.indexOf('\'', expecting + 11);
    return header.or(
        () -> end < 0 ? Optional.empty() : Optional.of(message.substring(expecting + 11, end)));
  }

  private static Reason throttled() {
    return unavailable(
        "the store asks for fewer requests; it is tried again later, and should this last, make"
            + " checkpoints and materializations less frequent");
  }

  private static String text(AwsServiceException answer) {
    @Nullable AwsErrorDetails details = answer.awsErrorDetails();
    StringBuilder text = new StringBuilder("status ").append(answer.statusCode());
    if (!codeOf(answer).isEmpty()) {
      text.append(", ").append(codeOf(answer));
    }
    if (details != null && details.errorMessage() != null && !details.errorMessage().isEmpty()) {
      text.append(": ").append(details.errorMessage());
    }
    if (answer.requestId() != null) {
      text.append(", request ").append(answer.requestId());
    }
    return text.toString();
  }

  private Reason local(Throwable failure) {
    if (failure instanceof ApiCallTimeoutException
        || failure instanceof ApiCallAttemptTimeoutException
        || failure instanceof TimeoutException) {
      return unavailable(
          settings.endpointText()
              + " did not answer in time; is it overloaded, or are 's3.request.attempt-timeout' and"
              + " 's3.request.timeout' too short for this network?");
    }
    if (failure instanceof CancellationException) {
      return unavailable("the request was cancelled");
    }
    if (find(failure, UnknownHostException.class).isPresent()) {
      return unavailable(
          "the host of "
              + settings.endpointText()
              + " is not known; check 's3.endpoint', and for a server of your own set"
              + " s3.path-style-access=true");
    }
    if (find(failure, ConnectException.class).isPresent()
        || find(failure, NoRouteToHostException.class).isPresent()) {
      return unavailable(
          "nothing answers at "
              + settings.endpointText()
              + "; check 's3.endpoint', the network, and that the server runs");
    }
    if (isClosedConnection(failure)) {
      return unavailable(
          settings.endpointText()
              + " closed the connection before it answered; the server, or a proxy before it, may be"
              + " restarting");
    }
    if (find(failure, SSLException.class).isPresent()) {
      return unavailable(
          "no secure connection to "
              + settings.endpointText()
              + " ("
              + text(failure)
              + "); check that 's3.endpoint' has the right scheme and that Java trusts the server's"
              + " certificate");
    }
    return setUp(failure);
  }

  /** The SDK's own text goes on for four lines about proxies, dumps and the channel. */
  private static boolean isClosedConnection(Throwable failure) {
    String said =
        find(failure, IOException.class).map(S3Errors::text).orElse("").toLowerCase(Locale.ROOT);
    return find(failure, ClosedChannelException.class).isPresent()
        || said.contains("connection was closed")
        || said.contains("connection reset")
        || said.contains("broken pipe");
  }

  private static Reason setUp(Throwable failure) {
    String text = text(failure);
    String lower = text.toLowerCase(Locale.ROOT);
    if (lower.contains("unable to load region")) {
      return invalid("no region is known; set 's3.region', or AWS_REGION in the environment");
    }
    if (lower.contains("unable to load credentials")) {
      return invalid(
          "there are no credentials; give them where the SDK looks for them: AWS_ACCESS_KEY_ID and"
              + " AWS_SECRET_ACCESS_KEY in the environment, a profile, or a role of the machine");
    }
    return unavailable("the outcome is not known (" + text + "); try again");
  }

  private static String text(Throwable failure) {
    @Nullable String message = failure.getMessage();
    return message == null ? failure.getClass().getSimpleName() : message;
  }

  private static <T extends Throwable> Optional<T> find(Throwable failure, Class<T> type) {
    for (@Nullable Throwable at = failure; at != null; at = at.getCause()) {
      if (type.isInstance(at)) {
        return Optional.of(type.cast(at));
      }
    }
    return Optional.empty();
  }
}
