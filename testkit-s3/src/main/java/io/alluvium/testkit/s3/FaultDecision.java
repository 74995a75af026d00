package io.alluvium.testkit.s3;

import java.time.Duration;

/** What the proxy does with one request and its answer. Immutable. */
public sealed interface FaultDecision {

  /** Forwards the request and the answer without a fault. */
  FaultDecision NONE = new Delayed(Duration.ZERO);

  /** Forwards the request after a delay, even if the client has cancelled it. */
  record Delayed(Duration by) implements FaultDecision {}

  /** Forwards the request at once and delays the answer. */
  record AnsweredLate(Duration by) implements FaultDecision {}

  /** Does not forward the request; answers an S3 error, for example 503 {@code SlowDown}. */
  record Refused(int status, String code) implements FaultDecision {}

  /** Does not forward the request; resets the connection. */
  record Lost() implements FaultDecision {}

  /** Forwards the request, then resets the connection instead of answering. */
  record AnswerLost() implements FaultDecision {}

  /** Does not forward the request and does not answer while the connection is open. */
  record Unanswered() implements FaultDecision {}
}
