package io.alluvium.blobstore.s3;

import java.io.Serial;
import software.amazon.awssdk.awscore.exception.AwsServiceException;

/** A request failed, not yet translated for people. Confined to one thread. */
final class RequestFailed extends Exception {

  @Serial private static final long serialVersionUID = 1L;

  private final Throwable failure;

  RequestFailed(Throwable failure) {
    super(failure);
    this.failure = failure;
  }

  Throwable failure() {
    return failure;
  }

  /** The status of the answer, or 0 when there was none. */
  int status() {
    return failure instanceof AwsServiceException answer ? answer.statusCode() : 0;
  }

  /** Whether the store answered with this code. */
  boolean hasCode(String code) {
    return code.equals(S3Errors.codeOf(failure));
  }
}
